"""Subwords of text in small letters, for models that only read: classifiers, masked models.

Few texts show most words in one case only. The normal form is in small letters but for protected strings, and a round
trip gives that back. The SentencePiece model does not know of it, so that models with this kind cannot go to programs
that would use it alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

from regard.tokens.kinds import subwords
from regard.tokens.kinds.subwords import Options, Subwords

__all__ = ["Options", "Uncased", "load", "train"]


class Uncased(Subwords):
    """A SentencePiece model that is given small letters."""

    kind = "uncased"

    def normalise(self, text: str) -> str:
        """The normal form of text in small letters."""
        return super().normalise(_lower(super().normalise(text), self._protected))

    def encode_batch(self, texts: list[str], threads: int = 1) -> list[list[int]]:
        """The ids of each of `texts`, which are in normal form but for their capitals."""
        return super().encode_batch([self.normalise(text) for text in texts], threads)

    @cached_property
    def _protected(self) -> re.Pattern[str]:
        """Finds protected strings with capitals: no other pieces have any, but the names of bytes."""
        capital = (piece for token, piece in enumerate(self._pieces) if not self._processor.is_byte(token))
        return _finding(piece for piece in capital if piece != piece.lower())


def train(texts: Sequence[str], *, vocabulary: int, protected: Sequence[str], options: Options) -> Uncased:
    """A SentencePiece model of these texts in small letters."""
    kept = _finding(protected)
    lower = [_lower(text, kept) for text in texts]
    found = subwords.train(lower, vocabulary=vocabulary, protected=protected, options=options)
    return load(found.files(), options=options)


def load(files: Mapping[str, bytes], *, options: Options) -> Uncased:
    """The tokeniser of a SentencePiece model that was made from small letters."""
    return Uncased(model=subwords.load(files, options=options).files()["spm"], options=options)


def _finding(strings: Iterable[str]) -> re.Pattern[str]:
    """Finds any of these strings, the longest first; nothing where there are none."""
    return re.compile("|".join(map(re.escape, sorted(strings, key=len, reverse=True))) or "(?!)")


def _lower(text: str, kept: re.Pattern[str]) -> str:
    """The text in small letters but for what is kept."""
    parts, end = [], 0
    for found in kept.finditer(text):
        parts += [text[end : found.start()].lower(), found[0]]
        end = found.end()
    return "".join([*parts, text[end:].lower()])
