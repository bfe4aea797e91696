"""Exact match: the share of lines that are exactly right."""

from __future__ import annotations

from regard.metrics.metric import Counts
from regard.metrics.word_error_rate import WordErrorRate


class ExactMatch(WordErrorRate):
    """The share of lines that are exactly a reference: 100 less the word error rate."""

    title = "exact match"
    about = "How many of 100 lines are exactly the reference."
    higher_is_better = True

    def value(self, total: Counts) -> float:
        """From 0 to 100."""
        wrong, lines = total
        return 100.0 * float(lines - wrong) / float(lines)

    def details(self, total: Counts) -> dict[str, float]:
        """How many are right, of how many."""
        return {"right": float(total[1] - total[0]), "lines": float(total[1])}


METRIC = ExactMatch
