"""Hundreds of hard texts through both shipped models: nothing is lost, nothing is invented, nothing is junk.

What must survive is looked for here by patterns of our own, not by those of the program.
"""

import re
from collections import Counter

import pytest

import regard
from hard_texts import IDENTIFIERS, english, german
from regard.text.placeholders import placeholders
from regard.translation.segments import Segment, Segmenter
from regard.translation.translator import Translation

GERMAN = set("äöüÄÖÜß„“”‚‘’–—…»«°€§·×éàèêáóç\u00a0\u202f")
CODE = re.compile(
    r"https?://\S+\w|www\.[\w.]+|[\w.]+@[\w.]+\w|\{%.*?%\}|\{\{+.*?\}\}+|\$?\{\w*(?:[:,][^{}]*)?\}|\$\(?\w+\)?(?<!\d)|&#?\w+;"
    r"|%\(\w+\)[sd]|%\d?\$?[\d.]*l?[sdfu](?!\w)|%%|%[A-Z]+%|`[^`]+`|</?[a-z][^<>]*>|\*\*"
)
TAG = re.compile(r"<(/?)([a-z]+)[^<>]*?(/?)>")
SYMBOLS = re.compile("[❤🙂✓⌘♪★→≥≤≠∞™©®†¶√Ω½¼³₂²µ±£¥₹₿α-ω가-힣一-鿿а-яА-Я]")


@pytest.fixture(scope="module")
def translations() -> list[Translation]:
    found = regard.load("en-de", device="cpu").translate(english())
    return found + regard.load("de-en", device="cpu").translate(german())


def digits(text: str) -> Counter[str]:
    """The numbers of a text without marks between their digits; the parts of a date in any order."""
    text = re.sub(
        r"\b(\d{1,2})[./](\d{1,2})[./](\d{4})\b", lambda d: " ".join(str(int(part)) for part in d.groups()), text
    )
    return Counter(re.findall(r"\d+", re.sub(r"(?<=\d)[.,:](?=\d)", "", text)))


def test_there_are_at_least_three_hundred_different_texts_in_two_directions() -> None:
    assert len(set(english()) | set(german())) >= 300
    assert len(set(german())) >= 100


def test_no_translation_has_a_character_that_is_neither_in_its_source_nor_usual(
    translations: list[Translation],
) -> None:
    for found in translations:
        strange = {one for one in found.text if not one.isascii()} - GERMAN - set(found.source)
        assert not strange, found


def test_every_unusual_character_of_a_source_is_in_its_translation(translations: list[Translation]) -> None:
    for found in translations:
        assert Counter(SYMBOLS.findall(found.source)) == Counter(SYMBOLS.findall(found.text)), found


def test_no_number_is_lost_or_invented(translations: list[Translation]) -> None:
    for found in translations:
        assert digits(found.source) == digits(found.text), found


def test_no_placeholder_or_tag_is_lost_or_invented_and_tags_are_nested(translations: list[Translation]) -> None:
    for found in translations:
        if ", plural," in found.source or ", select," in found.source:
            continue
        assert Counter(CODE.findall(found.source)) == Counter(CODE.findall(found.text)), found
        opened: list[str] = []
        for closing, name, alone in TAG.findall(found.text):
            if closing:
                assert opened.pop() == name, found
            elif not alone:
                opened.append(name)
        assert not opened


def test_names_for_computers_are_in_their_translations_letter_by_letter(translations: list[Translation]) -> None:
    with_names = [(found, name) for found in translations for name in IDENTIFIERS if name in found.source]
    assert len(with_names) >= 2 * len(IDENTIFIERS)
    for found, name in with_names:
        assert name in found.text, found


def test_icu_messages_keep_their_structure_and_their_branches_are_translated(translations: list[Translation]) -> None:
    by_source = {found.source: found.text for found in translations}
    shape = re.compile(r"\{\w+, (?:plural|select),|(?:=\d|one|other|male|female) \{|#|[{}]")
    messages = [source for source in by_source if shape.match(source)]
    assert len(messages) >= 3
    for source in messages:
        assert shape.findall(source) == shape.findall(by_source[source])
    assert by_source["{count, plural, one {# file} other {# files}} deleted"] == (
        "{count, plural, one {# Datei} other {# Dateien}} gelöscht"
    )


def test_texts_in_capitals_come_back_in_capitals_and_in_the_other_language(translations: list[Translation]) -> None:
    capitals = [
        found
        for found in translations
        if found.source.isupper() and " " in found.source and not placeholders(found.source)
    ]
    capitals = [found for found in capitals if sum(map(str.isalpha, found.source)) > 8]
    assert len(capitals) >= 8
    for found in capitals:
        assert found.text.isupper(), found
        assert len(set(found.source.split()) & set(found.text.split())) <= 1, found


@pytest.mark.parametrize(("text", "parts"), [
    ("DO NOT OPEN THIS DOOR. It is dangerous.", ["DO NOT OPEN THIS DOOR.", "It is dangerous."]),
    ("It is hot. DO NOT TOUCH IT! Wait.", ["It is hot.", "DO NOT TOUCH IT!", "Wait."]),
    ("DO NOT OPEN. IT IS HOT.", ["DO NOT OPEN. IT IS HOT."]),
    ("We met at UNESCO. It was fine.", ["We met at UNESCO. It was fine."]),
    ("UNESCO. It was fine.", ["UNESCO. It was fine."]),
    ("<b>DO NOT OPEN. It</b> is hot.", ["<b>DO NOT OPEN. It</b> is hot."]),
])  # fmt: skip
def test_a_sentence_in_capitals_beside_others_is_a_part_of_its_own(text: str, parts: list[str]) -> None:
    tokeniser = regard.load("en-de", device="cpu").tokenisers.source
    segmenter = Segmenter(tokeniser, split_over=40, most_pieces=500)
    found = segmenter.parts(text, letters=True)
    assert [part.text for part in found if isinstance(part, Segment)] == parts
    assert "".join(part.text if isinstance(part, Segment) else part for part in found) == text
    assert len(segmenter.parts(text)) == 1


def test_only_the_sentences_that_were_in_capitals_come_back_in_capitals() -> None:
    found = regard.load("en-de", device="cpu").translate("DO NOT OPEN THIS DOOR. It is dangerous.")
    warning, reason = found.text.split(". ")
    assert warning.isupper()
    assert not {"DO", "OPEN", "THIS", "DOOR"} & set(warning.split())
    assert not reason.isupper()


def test_a_text_without_known_letters_comes_back_unchanged(translations: list[Translation]) -> None:
    alone = [found for found in translations if found.source in ("½", "日本語 текст", "❤️", "★ ★ ★", "10:30")]
    assert len(alone) == 9
    assert all(found.text == found.source for found in alone)


def test_hardly_any_of_these_texts_is_refused(translations: list[Translation]) -> None:
    assert sum(found.refused for found in translations) <= len(translations) // 50
