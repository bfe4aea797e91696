"""A round trip through ids gives back the normal form of any text."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.tokens import Tokeniser, TokeniserSettings, train
from regard.tokens.reversal import Reversed

TEXTS = [
    "The quick brown fox jumps over {name}.",
    "Zwölf Boxkämpfer jagen Viktor quer über %d Häuser.",
    "日本語 ▁ 🦊",
] * 6
LOSSLESS = ["unigram", "bpe", "characters", "utf8"]

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
hostile = st.lists(
    st.sampled_from(
        [*" \t\n▁▅⁇\ufffd\ufeff\u00a0\u0301e", "<0xE2>", "<pad>", "</s>", "<unk>", "{name}", "%d", "über", "🦊"]
    )
).map("".join)


@cache
def tokeniser(kind: str) -> Tokeniser:
    table: dict[str, object] = {"kind": kind, "vocabulary": 330, "patterns": ["braces", "percent"]}
    if kind in ("unigram", "bpe"):
        table |= {"kind": "subwords", "options": {"algorithm": kind, "minimum": 2}}
    return train(TEXTS, TEXTS, TokeniserSettings.read(table, where="test")).source


@pytest.mark.parametrize("kind", LOSSLESS)
@given(text=text | hostile)
def test_any_text_comes_back_in_normal_form(kind: str, text: str) -> None:
    ours = tokeniser(kind)
    ids = ours.encode(text)
    assert ours.decode(ids) == ours.normalise(text)
    assert not {ours.begin, ours.end, ours.unknown} & set(ids)
    assert len(ours.pieces(ids)) == len(ours.word_starts(ids)) == len(ids)


@pytest.mark.parametrize("kind", [*LOSSLESS, "words"])
@given(texts=st.lists(text | hostile, max_size=5))
def test_a_batch_of_normal_text_has_the_ids_of_its_texts(kind: str, texts: list[str]) -> None:
    ours = tokeniser(kind)
    normal = [ours.normalise(text) for text in texts]
    assert ours.encode_batch(normal, threads=2) == [ours.encode(text) for text in texts]
    assert [ours.normalise(text) for text in normal] == normal


@pytest.mark.parametrize("kind", [*LOSSLESS, "words"])
@given(text=text | hostile)
def test_from_the_end_everything_is_the_same_in_reverse(kind: str, text: str) -> None:
    forwards = tokeniser(kind)
    backwards = Reversed(forwards)
    ids = forwards.encode(text)
    assert backwards.encode(text) == ids[::-1]
    assert backwards.encode_batch([forwards.normalise(text)]) == [ids[::-1]]
    assert backwards.decode(ids[::-1]) == forwards.decode(ids)
    assert backwards.pieces(ids[::-1]) == forwards.pieces(ids)[::-1]
    assert _words(backwards, ids[::-1]) == _words(forwards, ids)[::-1]


def _words(ours: Tokeniser, ids: list[int]) -> list[str]:
    firsts = [place for place, starts in enumerate(ours.word_starts(ids)) if starts]
    assert firsts[:1] == [0][: len(ids)]
    spans = zip(firsts, [*firsts[1:], len(ids)], strict=False)
    return [ours.decode(ids[first:last]) for first, last in spans]


@given(text=text | hostile)
def test_words_come_back_with_a_mark_for_each_unknown_one(text: str) -> None:
    ours = tokeniser("words")
    known = {"{name}", "%d", *" ".join(TEXTS).split()}
    expected = [word if word in known else "<unk>" for word in ours.normalise(text).split(" ") if word]
    assert ours.decode(ours.encode(text)) == " ".join(expected)


@given(words=st.lists(st.sampled_from(" ".join(TEXTS).split())))
def test_known_words_come_back_as_they_are(words: list[str]) -> None:
    ours = tokeniser("words")
    assert ours.decode(ours.encode(" ".join(words))) == " ".join(words)


@pytest.mark.parametrize("kind", LOSSLESS)
@given(data=st.data())
def test_any_ids_at_all_decode_to_text(kind: str, data: st.DataObject) -> None:
    ours = tokeniser(kind)
    ids = data.draw(st.lists(st.integers(0, ours.size - 1), max_size=40))
    ours.decode(ids).encode()
    assert len(ours.pieces(ids)) == len(ids)
