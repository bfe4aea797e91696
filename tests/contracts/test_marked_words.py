"""One marked word in each of thirty sentences: its translation is right, and marked, as often as without marks."""

import re

import pytest

import regard
from regard.text.inline import Inline
from regard.translation.translator import Translator

SENTENCES = {
    "You must *never* delete this file.": "nie|niemals",
    "You *cannot* open this file.": "nicht|können|kann",
    "The *red* car is very fast.": "rote",
    "She reads a *book* every day.": "Buch",
    "Please *close* the window.": "schließen|schließe|mach|machen",
    "The meeting is on *Monday*.": "Montag",
    "We will *always* remember you.": "immer",
    "He drinks *water* in the morning.": "Wasser",
    "The *dog* sleeps under the table.": "Hund",
    "My *brother* lives in Berlin.": "Bruder",
    "This is *not* my house.": "nicht",
    "I have *three* sisters.": "drei",
    "Click the *button* to continue.": "Schaltfläche|Knopf",
    "The *old* man walks slowly.": "alte",
    "They play *football* in the park.": "Fußball",
    "Do you like *coffee*?": "Kaffee",
    "It is *very* cold today.": "sehr",
    "The *train* arrives at ten o'clock.": "Zug",
    "Save the *document* before you leave.": "Dokument",
    "Her *mother* is a teacher.": "Mutter",
    "I want to buy a *new* computer.": "neuen",
    "The *children* are playing outside.": "Kinder",
    "*Enter* your password.": "Geben|Gib",
    "We need *more* time.": "mehr",
    "The *door* is open.": "Tür",
    "He speaks *German* very well.": "Deutsch",
    "I saw him *yesterday*.": "gestern",
    "The *answer* is wrong.": "Antwort",
    "You should *only* use this option once.": "nur",
    "The city is *beautiful* in winter.": "schön",
}
MARK = re.compile(r"\*(.+?)\*")


@pytest.fixture(scope="module")
def translator() -> Translator:
    return regard.load("en-de", device="cpu")


@pytest.fixture(scope="module")
def plain(translator: Translator) -> list[str]:
    return [found.text for found in translator.translate([MARK.sub(r"\1", sentence) for sentence in SENTENCES])]


@pytest.mark.parametrize(("opening", "closing"), [("<b>", "</b>"), ("**", "**"), ('<g id="1">', "</g>")])
def test_a_marked_word_is_right_as_often_as_without_marks(
    translator: Translator, plain: list[str], opening: str, closing: str
) -> None:
    texts = [MARK.sub(rf"{opening}\1{closing}", sentence) for sentence in SENTENCES]
    found = [one.text for one in translator.translate(texts)]
    marked = re.compile(f"{re.escape(opening)}(.+?){re.escape(closing)}")
    right_without = [
        bool(re.search(rf"\b(?:{word})\b", text)) for word, text in zip(SENTENCES.values(), plain, strict=True)
    ]
    right = [
        bool((mark := marked.search(text)) and re.fullmatch(word, mark[1], re.IGNORECASE))
        for word, text in zip(SENTENCES.values(), found, strict=True)
    ]
    assert len(SENTENCES) == 30
    assert sum(right_without) >= 27
    assert sum(right) >= sum(right_without)
    assert [text.replace(opening, "").replace(closing, "") for text in found] == plain


def test_tags_of_a_document_stand_around_the_same_words(translator: Translator) -> None:
    built = Inline()
    for method, text in [
        ("text", "The "),
        ("open", "**"),
        ("text", "dog"),
        ("close", "**"),
        ("text", " is very "),
        ("open", "["),
    ]:
        getattr(built, method)(text)
    built.text("big")
    built.close("](a.md)")
    built.text(" today.")
    shown = built.shown()
    assert shown.restored(translator.translate(shown.text).text) == "Der **Hund** ist heute sehr [groß](a.md)."
