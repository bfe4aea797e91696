"""Rows: the only batch. Whole sentences side by side in rows of equal length.

Every token carries the number of its sentence in the row (from 1; 0 is padding) and its position in that sentence.
A model keeps sentences apart by these numbers, so that each gets what it would get alone. One sentence a row is the
ordinary padded batch.

Shapes: B rows, L tokens a row.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

Sentence = Sequence[int]


class Rows(NamedTuple):
    """One side of a batch."""

    tokens: Tensor  # [B, L]
    segments: Tensor  # [B, L]
    positions: Tensor  # [B, L]

    def to(self, device: torch.device | str) -> Rows:
        """The same on another device; from pinned memory, without waiting."""
        return Rows(*(tensor.to(device, non_blocking=True) for tensor in self))

    def parts(self, count: int) -> list[Rows]:
        """So many parts of the rows, of nearly equal size."""
        return [Rows(*part) for part in zip(*(tensor.chunk(count) for tensor in self), strict=True)]

    def pinned(self) -> Rows:
        """The same in memory that a GPU can copy from at any time."""
        return Rows(*(tensor.pin_memory() for tensor in self))


class Batch(NamedTuple):
    """Sentence pairs in rows. Pair n of a row has the segment number n on both sides."""

    source: Rows
    target: Rows  # what the decoder reads: the start, then each token but the last
    labels: Tensor  # [B, L of the target] what it is to say: each token; where target.segments is 0, nothing
    tokens: int  # how many labels there are, over all processes that share the batch

    def to(self, device: torch.device | str) -> Batch:
        """The same on another device; from pinned memory, without waiting."""
        return Batch(
            self.source.to(device), self.target.to(device), self.labels.to(device, non_blocking=True), self.tokens
        )

    def parts(self, count: int) -> list[Batch]:
        """So many parts of the rows, of nearly equal size; `tokens` stays that of the whole."""
        sides = zip(self.source.parts(count), self.target.parts(count), self.labels.chunk(count), strict=True)
        return [Batch(source, target, labels, self.tokens) for source, target, labels in sides]

    def pinned(self) -> Batch:
        """The same in memory that a GPU can copy from at any time."""
        return Batch(self.source.pinned(), self.target.pinned(), self.labels.pin_memory(), self.tokens)


def rows_of(rows: Sequence[Sequence[Sentence]], *, length: int | None = None, padding: int = 0) -> Rows:
    """Places each row's sentences one after the other; `length` is that of the fullest row unless said."""
    fullest = max((sum(map(len, row)) for row in rows), default=0)
    length = fullest if length is None else length
    assert fullest <= length, f"a row of {fullest} tokens does not fit into {length}"
    filled = np.zeros((3, len(rows), length), dtype=np.int64)  # torch would take longer for each sentence
    tokens, segments, positions = filled
    tokens[:] = padding
    count = np.arange(length)
    for r, row in enumerate(rows):
        end = 0
        for number, sentence in enumerate(row, start=1):
            start, end = end, end + len(sentence)
            tokens[r, start:end] = sentence
            segments[r, start:end] = number
            positions[r, start:end] = count[: len(sentence)]
    return Rows(*torch.from_numpy(filled))


def batch_of(
    rows: Sequence[Sequence[tuple[Sentence, Sentence]]], *, begin: int, end: int, length: int | None = None
) -> Batch:
    """The batch of rows of (source, target) pairs. `end` closes each sentence; the decoder starts from `begin`."""
    sources = [[[*source, end] for source, _ in row] for row in rows]
    read = [[[begin, *target] for _, target in row] for row in rows]
    said = [[[*target, end] for _, target in row] for row in rows]
    target = rows_of(read, length=length)
    labels = rows_of(said, length=length).tokens
    return Batch(rows_of(sources, length=length), target, labels, int((target.segments != 0).sum()))


def by_length(lengths: Sequence[int], *, tokens: int, numbers: Iterable[int] | None = None) -> Iterator[list[int]]:
    """The numbers of all sentences, or of these, in batches of similar length, the longest first.

    A batch has at most so many tokens, padding included, and at least one sentence.
    """
    batch: list[int] = []
    for number in sorted(range(len(lengths)) if numbers is None else numbers, key=lambda n: -lengths[n]):
        if batch and (len(batch) + 1) * lengths[batch[0]] > tokens:
            yield batch
            batch = []
        batch.append(number)
    if batch:
        yield batch
