"""Words and the pieces that they are made of: a sentence as the model sees it, and as people do.

Shapes: H heads, T queries, S keys.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from regard.tokens.tokeniser import SPACE, Tokeniser

START, END = "⟨start⟩", "⟨end⟩"  # how people see what has no text


@dataclass(frozen=True, kw_only=True)
class Tokens:
    """A sentence as the model sees it, and as words."""

    pieces: tuple[str, ...]
    words: tuple[str, ...]
    word_of: tuple[int, ...]  # for each piece the number of its word

    def table(self) -> dict[str, Any]:
        """For programs."""
        return {"pieces": self.pieces, "words": self.words, "word_of": self.word_of}


def tokens_of(tokeniser: Tokeniser, ids: Sequence[int], *, after: bool, apart: bool = True) -> Tokens:
    """The pieces and words of a sentence, and its end `after` it, or else its start before it.

    Punctuation after a word stands `apart` from it, or else words are what stands between spaces.
    """
    pieces = tokeniser.pieces(ids)
    spans = _spans(pieces, tokeniser.word_starts(ids), apart=apart)
    words = [tokeniser.decode(ids[first:last]).strip() or "".join(pieces[first:last]) for first, last in spans]
    word_of = [number for number, (first, last) in enumerate(spans) for _ in range(first, last)]
    if after:
        return Tokens(pieces=(*pieces, END), words=(*words, END), word_of=(*word_of, len(words)))
    return Tokens(pieces=(START, *pieces), words=(START, *words), word_of=(0, *(number + 1 for number in word_of)))


def _spans(pieces: Sequence[str], starts: Sequence[bool], *, apart: bool) -> list[tuple[int, int]]:
    """From where to where each word goes."""
    firsts = [place for place, start in enumerate(starts) if start]
    spans: list[tuple[int, int]] = []
    for first, last in zip(firsts, [*firsts[1:], len(pieces)], strict=True):
        cut = last
        while apart and cut - 1 > first and is_punctuation(pieces[cut - 1]):
            cut -= 1
        spans += [(first, cut), (cut, last)] if cut < last else [(first, last)]
    return spans


def is_punctuation(piece: str) -> bool:
    """Whether a piece is marks alone; a lone byte, written <0xE2>, is not."""
    marks = piece.strip(f"{SPACE} ")
    return bool(marks) and all(unicodedata.category(mark)[0] in "PS" for mark in marks)


def by_words(weights: Tensor, queries: Tokens, keys: Tokens) -> Tensor:
    """[H, T, S] over pieces -> the same over words: what the pieces of a word get together, from its pieces' mean.

    So each row still sums to 1.
    """
    rows = torch.tensor(queries.word_of)
    columns = torch.tensor(keys.word_of)
    heads = weights.size(0)
    together = weights.new_zeros(heads, weights.size(1), len(keys.words)).index_add_(2, columns, weights)
    summed = weights.new_zeros(heads, len(queries.words), len(keys.words)).index_add_(1, rows, together)
    return summed / torch.bincount(rows, minlength=len(queries.words))[None, :, None]
