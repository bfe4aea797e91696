"""Which side of the corpus a sentence belongs to, learnt from the corpus itself, without knowing its languages.

A word that is far more frequent on one side is evidence for it. A pair stands out if the words of a side, nearly
all of them, are evidence for the other side. Names, numbers and words of both languages are no evidence at all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Set
from enum import Enum
from math import log

_MOST_WORDS = 500_000  # distinct words to be remembered a side; beyond it the rarest are forgotten
_SEEN = 10  # a word that is seen less often is no evidence
_STRONGEST = 4.0  # what one word can say at most, in natural logarithms
_WEAKEST = 1.0
_ENOUGH_WORDS = 3
_ENOUGH = 7.0
_NEARLY_ALL = 0.75


class Misplaced(Enum):
    """What is wrong with the sides of a pair."""

    SWAPPED = "source and target look swapped"
    SOURCE = "the source looks like the target language"
    TARGET = "the target looks like the source language: it may be untranslated"


class WordSides:
    """How often each word stands on each side."""

    def __init__(self) -> None:
        self.source: Counter[str] = Counter()
        self.target: Counter[str] = Counter()

    def add(self, source: Mapping[str, int], target: Mapping[str, int]) -> None:
        """More words of both sides, counted."""
        for counts, more in ((self.source, source), (self.target, target)):
            counts.update(more)
            if len(counts) > _MOST_WORDS:
                _forget_the_rarest(counts)

    def evidence(self) -> dict[str, float]:
        """What each frequent word says: above 0 for the source, below 0 for the target."""
        source, target = self.source.total() + 1, self.target.total() + 1
        found = {}
        for word in self.source.keys() | self.target.keys():
            here, there = self.source[word], self.target[word]
            if here + there >= _SEEN:
                said = log((here + 0.5) / source) - log((there + 0.5) / target)
                if abs(said) >= _WEAKEST:
                    found[word] = max(-_STRONGEST, min(_STRONGEST, said))
        return found


def misplaced(source: Set[str], target: Set[str], evidence: Mapping[str, float]) -> Misplaced | None:
    """What is wrong with the sides of a pair, given by their words, if it is clear."""
    of_source = [evidence[word] for word in source if word in evidence]
    of_target = [-evidence[word] for word in target if word in evidence]
    source_wrong, target_wrong = _wrong(of_source), _wrong(of_target)
    if source_wrong and target_wrong:
        return Misplaced.SWAPPED
    if source_wrong:
        return Misplaced.SOURCE
    return Misplaced.TARGET if target_wrong else None


def _wrong(said: list[float]) -> bool:
    """Whether words that should be evidence for their side (above 0) clearly are evidence against it."""
    if sum(said) > -_ENOUGH:
        return False
    against = sum(1 for value in said if value < 0)
    return against >= _ENOUGH_WORDS and against >= _NEARLY_ALL * len(said)


def _forget_the_rarest(counts: Counter[str]) -> None:
    least = 1
    while len(counts) > _MOST_WORDS // 2:
        for word in [word for word, count in counts.items() if count <= least]:
            del counts[word]
        least *= 2
