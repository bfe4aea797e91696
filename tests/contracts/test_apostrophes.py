"""Contractions whose apostrophes were left out: the model sees them as they are spelt."""

import pytest

import regard
from regard.text.apostrophes import with_apostrophes
from regard.text.placeholders import placeholders
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
