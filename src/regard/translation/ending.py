"""The pass for the edges of a sentence: its capital, and the marks that end it, are those of the source."""

from __future__ import annotations

from collections.abc import Sequence

from regard.search import SearchSettings
from regard.text.edges import with_edges_of
from regard.translation.finding import Found, Sentence
from regard.translation.passes import Pass


class Ending:
    """Marks that end a sentence as the source does."""

    def __init__(self, inner: Pass) -> None:
        self._inner = inner

    def translated(self, sentences: Sequence[Sentence], settings: SearchSettings) -> list[list[Found]]:
        """The translations, with the edges of their sentences."""
        return [
            [self._with_edges(sentence, other) for other in others]
            for sentence, others in zip(sentences, self._inner.translated(sentences, settings), strict=True)
        ]

    def _with_edges(self, sentence: Sentence, found: Found) -> Found:
        asked = sentence.request
        if found.hypothesis.length_limited or (asked is not None and asked.prefix):
            return found  # the checks are to see where it was cut off, and people the beginning that they gave
        return found.saying(with_edges_of(sentence.text, found.text))
