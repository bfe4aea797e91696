"""Contractions whose apostrophes were left out: the model sees them as they are spelt."""

from collections.abc import Sequence

import pytest

import regard
from regard.search import SearchSettings
from regard.text.apostrophes import with_apostrophes
from regard.text.placeholders import placeholders
from regard.translation.contracting import Contracting
from regard.translation.finding import Found, Sentence
from regard.translation.passes import Reader
from regard.translation.translator import Translator


@pytest.mark.parametrize(
    ("typed", "spelt"),
    [
        ("i dont know", "i don't know"),
        ("Dont do that, you cant.", "Don't do that, you can't."),
        ("DONT PANIC", "DON'T PANIC"),
        ("im here and theyre there", "I'm here and they're there"),
        ("Im sure thats it", "I'm sure that's it"),
        ("it isn't so, isnt it?", "it isn't so, isn't it?"),
    ],
)
def test_an_apostrophe_that_was_left_out_is_put_back(typed: str, spelt: str) -> None:
    assert with_apostrophes(typed, "en") == spelt


@pytest.mark.parametrize(
    "text",
    [
        "its colour, as we were", "a wont, a want", "lets go", "IM and IVE", "set dont_care", "dont.txt", "./dont",
        "--dont-ask", "mail dont@example.org", "a cantata by Dontas", "don’t and don't",
    ],
)  # fmt: skip
def test_words_that_need_none_and_names_for_computers_stay(text: str) -> None:
    assert with_apostrophes(text, "en") == text


def test_only_english_has_these_words_and_placeholders_stay() -> None:
    assert with_apostrophes("dont les im", "fr") == "dont les im"
    text = "{dont} do that"
    assert with_apostrophes(text, "en", placeholders(text)) == text
    assert with_apostrophes(text, "en") != text


class Seen:
    """An inner pass that keeps what it sees, and finds nothing."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def translated(self, sentences: Sequence[Sentence], settings: SearchSettings) -> list[list[Found]]:
        assert settings == SearchSettings()
        self.texts += [sentence.text for sentence in sentences]
        return [[] for _ in sentences]


@pytest.mark.parametrize(
    ("source", "known", "seen"),
    [("en", frozenset("ab'"), "We don't go."), ("en", frozenset("ab"), "We dont go."), ("en", None, "We dont go."),
     ("de", frozenset("ab'"), "We dont go.")],
)  # fmt: skip
def test_a_model_that_knows_no_apostrophe_sees_the_text_as_it_was_typed(
    translator: Translator, source: str, known: frozenset[str] | None, seen: str
) -> None:
    inner = Seen()
    contracting = Contracting(inner, Reader(translator.tokenisers), source=source, known=known)
    contracting.translated([Sentence("We dont go.", [5]), Sentence("Yes.", [6])], SearchSettings())
    assert inner.texts == [seen, "Yes."]


@pytest.fixture(scope="module")
def translator() -> Translator:
    return regard.load("en-de", device="cpu")


@pytest.mark.parametrize(
    "text", ["i dont know what you mean", "We cant go", "She doesnt like it", "The cat wasnt here", "That isnt true."]
)
def test_the_shipped_model_keeps_the_negation(translator: Translator, text: str) -> None:
    assert "nicht" in translator.translate(text).text


def test_a_translation_with_the_apostrophe_is_the_same(translator: Translator) -> None:
    assert translator.translate("We dont go.").text == translator.translate("We don't go.").text
