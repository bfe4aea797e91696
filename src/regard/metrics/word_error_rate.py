"""The word error rate of SIGMORPHON's pronunciation tasks: a line is a word, and is right or wrong as a whole."""

from __future__ import annotations

from collections.abc import Sequence

from regard.metrics.edits import EditRate


class WordErrorRate(EditRate):
    """The share of lines that are not exactly a reference."""

    title = "WER"
    about = "How many of 100 lines are not exactly the reference; a line is one word and its pronunciation."
    unit = "line"

    def units(self, text: str) -> Sequence[str]:
        """The whole line."""
        return [text]


METRIC = WordErrorRate
