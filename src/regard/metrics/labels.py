"""Scores of labels: accuracy, precision, recall and F1 of each label, and which labels are taken for which."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple


class Counts(NamedTuple):
    """How often a label, or spans of a type, were right, found and there."""

    right: int
    found: int
    there: int

    @property
    def precision(self) -> float:
        """The share of those found that are right, of 100."""
        return 100 * self.right / self.found if self.found else 0.0

    @property
    def recall(self) -> float:
        """The share of those there that were found, of 100."""
        return 100 * self.right / self.there if self.there else 0.0

    @property
    def f1(self) -> float:
        """The harmonic mean of both, of 100."""
        both = self.found + self.there
        return 200 * self.right / both if both else 0.0

    def table(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return self._asdict() | {"precision": self.precision, "recall": self.recall, "f1": self.f1}


class LabelScores(NamedTuple):
    """How well labels were predicted."""

    accuracy: float  # of 100
    macro_f1: float  # the mean of the F1 of all labels that are there
    by_label: dict[str, Counts]
    confusion: dict[tuple[str, str], int]  # (right label, predicted label) -> how often


def label_scores(predicted: Sequence[str], right: Sequence[str]) -> LabelScores:
    """The scores of labels, each beside the right one."""
    pairs = Counter(zip(right, predicted, strict=True))
    found, there = Counter(predicted), Counter(right)
    by_label = {
        label: Counts(pairs[label, label], found[label], there[label]) for label in sorted(found.keys() | there.keys())
    }
    scored = [counts.f1 for counts in by_label.values() if counts.there]
    same = sum(counts.right for counts in by_label.values())
    return LabelScores(100 * same / max(1, len(right)), sum(scored) / max(1, len(scored)), by_label, dict(pairs))
