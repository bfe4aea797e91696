"""The edits of TER: those that sacreBLEU finds, in far fewer steps."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics.lib_ter import BeamEditDistance, translation_edit_rate
from sacrebleu.metrics.ter import TER

from regard.metrics import metric, ter
from regard.metrics.shifts import _Matrix, edits

few_words = st.lists(st.sampled_from("abcdef"), max_size=14)


def moved(draw: random.Random, words: list[str]) -> list[str]:
    """The words with a phrase elsewhere, and one word changed."""
    first, last = sorted(draw.choices(range(len(words) + 1), k=2))
    rest, phrase = words[:first] + words[last:], words[first:last]
    place = draw.randint(0, len(rest))
    words = rest[:place] + phrase + rest[place:]
    words[draw.randrange(len(words))] = draw.choice("abcdefgh")
    return words


@given(hypothesis=few_words, reference=few_words)
def test_short_sentences_have_the_edits_that_sacrebleu_finds(hypothesis: list[str], reference: list[str]) -> None:
    assert edits(hypothesis, reference) == translation_edit_rate(hypothesis, reference)[0]


def test_long_sentences_have_the_edits_that_sacrebleu_finds() -> None:
    draw = random.Random(0)  # noqa: S311
    many_words = [f"w{n}" for n in range(100)]
    for length in (26, 40, 55):
        reference = draw.choices(many_words, k=length)
        for hypothesis in (moved(draw, reference), draw.choices(many_words, k=draw.randint(20, 60))):
            assert edits(hypothesis, reference) == translation_edit_rate(hypothesis, reference)[0]


def test_a_path_outside_of_sacrebleus_band_is_left_to_sacrebleu(monkeypatch: pytest.MonkeyPatch) -> None:
    same = [f"w{n}" for n in range(40)]
    hypothesis, reference = [*same, *["y"] * 26], [*["x"] * 26, *same]
    assert _Matrix(reference).rows(hypothesis)[-1].distance == 52  # drop 26, add 26
    assert BeamEditDistance(reference)(hypothesis)[0] == 66  # change all
    assert edits(hypothesis, reference) is None
    monkeypatch.setattr(ter, "translation_edit_rate", lambda *_: (77, 66))
    assert metric("ter").counts([" ".join(hypothesis), "a"], [[" ".join(reference)], ["a b"]]) == [[77, 66], [1, 2]]


@given(lines=st.lists(st.tuples(few_words, st.lists(few_words, min_size=2, max_size=2)), min_size=1, max_size=4))
def test_counts_are_sacrebleus_with_several_references(lines: list[tuple[list[str], list[list[str]]]]) -> None:
    hypotheses = [" ".join(words) for words, _ in lines]
    references = [[" ".join(words) for words in others] for _, others in lines]
    expected = TER()._extract_corpus_statistics(hypotheses, list(zip(*references, strict=True)))
    assert metric("ter").counts(hypotheses, references) == expected
