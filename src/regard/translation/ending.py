"""The pass for the marks of a sentence: its capital, those that end it, and its apostrophes are like the source's."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from regard.search import SearchSettings
from regard.text.apostrophes import with_apostrophes_like
from regard.text.edges import with_edges_of
from regard.text.placeholders import placeholders
from regard.translation.finding import Found, Sentence
from regard.translation.passes import Pass


class Ending:
    """Writes a translation with the marks of its source."""

    def __init__(self, inner: Pass) -> None:
        self._inner = inner

    def translated(self, sentences: Sequence[Sentence], settings: SearchSettings) -> list[list[Found]]:
        """The translations, with the edges and the apostrophes of their sentences."""
        return [
            [self._with_marks(sentence, other) for other in others]
            for sentence, others in zip(sentences, self._inner.translated(sentences, settings), strict=True)
        ]

    def _with_marks(self, sentence: Sentence, found: Found) -> Found:
        asked = sentence.request
        if found.hypothesis.length_limited or (asked is not None and asked.prefix):
            return found  # the checks are to see where it was cut off, and people the beginning that they gave
        said = with_edges_of(sentence.text, found.text)
        return found.saying(with_apostrophes_like(sentence.text, said, partial(placeholders, syntax=sentence.syntax)))
