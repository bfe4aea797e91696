"""Whatever text comes in: nothing crashes, no line is lost, and what has no words stays as it is."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import regard
from regard import TextError
from regard.search import SearchSettings
from regard.text.placeholders import differences
from regard.text.word_spans import word_spans
from regard.translation.translator import Translator

ODD = [
    "",
    " ",
    "\t\u3000\u00a0",
    "\u200b",
    "🙂",
    "👩‍👩‍👧‍👦 👍🏽",
    "a\x00b",
    "\x00",
    "\x1b[31mred\x1b[0m",
    "\ufeffalto",
    "日本語 текст العربية हिन्दी ไทย alto",
    "\u202eright to left\u202c",
    "e\u0301\u0301\u0301" * 50,
    "\u2028",
    "alto\u2028gan\x85esta\x0bikar\x0cgan",
    "<<<>>>{{{}}}%%%$$$&&&",
    "{" * 500,
    "</b><b>{0}%s &lt;",
    "." * 300,
    "A. " * 100,
    "▁alto ▁",
    "\\n\\t \\u0000",
    "\U0010ffff\ufffe\uffff",
    "alto\r\n\r\ngan\r",
    "0 1 2 3.14 1e-9 ½ Ⅷ",
]
FAST = SearchSettings(beam_size=2, max_length=12)


@pytest.fixture(scope="module")
def translator(trained_folder: Path) -> Translator:
    return regard.load(trained_folder, device="cpu")


def check(translator: Translator, texts: list[str]) -> None:
    found = list(translator.stream(texts, search=FAST, window=7, alignment=True))
    assert [one.source for one in found] == texts
    for one in found:
        if not one.source.strip():
            assert one.text == one.source
        if not set("\n\r") & set(one.source):
            assert not set("\n\r") & set(one.text)
        if not one.lost:
            normal = translator.tokenisers.source.normalise(one.source)
            assert differences(normal, one.text)[0] == []
        words = len(word_spans(one.source)), len(word_spans(one.text))
        assert all(s < words[0] and t < words[1] for s, t in one.alignment)


def test_odd_texts_come_back_as_one_translation_each(translator: Translator) -> None:
    check(translator, ODD)


pieces = st.one_of(
    st.text(max_size=6),
    st.sampled_from(
        ["alto", " ", "\n", ". ", "{0}", "%s", "<b>", "</b>", "&amp;", "Gan", "。", "🙂", "a@b.co", "\x00"]
    ),
)


@settings(max_examples=25)
@given(st.lists(st.lists(pieces, max_size=12).map("".join), max_size=8))
def test_any_texts_come_back_in_order_and_blank_ones_unchanged(translator: Translator, texts: list[str]) -> None:
    check(translator, texts)


@pytest.mark.parametrize("text", ["\ud800", "alto \udfff gan", "{0}\ud83d", "alto. " * 100 + "\udc80"])
def test_half_a_surrogate_pair_is_refused(translator: Translator, text: str) -> None:
    with pytest.raises(TextError, match=r"is half of a surrogate pair \(U\+D[0-9A-F]{3}\), which is not text"):
        translator.translate(["alto", text])
    with pytest.raises(TextError, match="half of a surrogate pair"):
        translator.score(text, "alto")
