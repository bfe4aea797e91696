"""The length penalty of a finished model, chosen on held-out pairs.

0.6 is the paper's. Models of small corpora stop too early with it: their translations have nine tenths of the words.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from regard import metrics

USUAL = 0.6  # section 6.1
_SHORTEST, _LONGEST = 0.97, 1.03  # of the references: lengths that are as good as equal
_FEW_WORDS = 3  # fewer a line: words are spelt, or the script has no spaces


class Candidate(NamedTuple):
    """What a length penalty gives on the held-out pairs."""

    penalty: float
    ratio: float  # the length of the translations, relative to the references
    chrf: float


def length_ratio(texts: Sequence[str], references: Sequence[str]) -> float:
    """How long texts are: below 1, shorter than the references; in words, or in characters where there are few."""
    words = sum(len(text.split()) for text in references)
    if words > _FEW_WORDS * len(references):
        return sum(len(text.split()) for text in texts) / words
    return sum(map(len, texts)) / max(1, sum(map(len, references)))


def candidate(penalty: float, texts: Sequence[str], references: Sequence[str]) -> Candidate:
    """The measures of these translations."""
    (chrf,) = metrics.score(["chrf"], texts, [[reference] for reference in references])
    return Candidate(penalty, length_ratio(texts, references), chrf.value)


def chosen(candidates: Sequence[Candidate]) -> Candidate:
    """The best chrF among those whose lengths are about right; where none is, the one whose length is the nearest.

    Of equals, the one that is nearest to the usual penalty.
    """
    fitting = [each for each in candidates if _SHORTEST <= each.ratio <= _LONGEST]
    if fitting:
        return min(fitting, key=lambda each: (-each.chrf, abs(each.penalty - USUAL)))
    return min(candidates, key=lambda each: (abs(each.ratio - 1), abs(each.penalty - USUAL)))
