"""Rows: the only batch. Whole sentences side by side in rows of equal length.

A token is an id, or a vector of F features in a stream that is not text. Every token carries the number of its
sentence in the row (from 1; 0 is padding) and its position in that sentence. A model keeps sentences apart by these
numbers, so that each gets what it would get alone. One sentence a row is the ordinary padded batch.

Shapes: B rows, L tokens a row, F features.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Sentence = Sequence[int]


class Rows(NamedTuple):
    """One stream of a batch."""

    tokens: Tensor  # [B, L] ids, or [B, L, F] vectors
    segments: Tensor  # [B, L]
    positions: Tensor  # [B, L]

    def to(self, device: torch.device | str) -> Rows:
        """The same on another device; from pinned memory, without waiting."""
        return Rows(*(tensor.to(device, non_blocking=True) for tensor in self))

    def parts(self, count: int) -> list[Rows]:
        """So many parts of the rows, of nearly equal size."""
        return [Rows(*part) for part in zip(*(tensor.chunk(count) for tensor in self), strict=True)]

    def every(self, step: int, *, first: int) -> Rows:
        """Every n-th row."""
        return Rows(*(tensor[first::step] for tensor in self))

    def pinned(self) -> Rows:
        """The same in memory that a GPU can copy from at any time."""
        return Rows(*(tensor.pin_memory() for tensor in self))


class Batch(NamedTuple):
    """Examples in rows: one stream or several, and labels for some positions. A task names the streams.

    Example n of a row has the segment number n in every stream.
    """

    streams: dict[str, Rows]
    labels: Tensor  # [B, L] what the model is to predict
    labelled: Tensor  # [B, L] True where there is a label
    tokens: int  # how many labels there are, over all processes that share the batch

    def to(self, device: torch.device | str) -> Batch:
        """The same on another device; from pinned memory, without waiting."""
        streams = {name: rows.to(device) for name, rows in self.streams.items()}
        labels, labelled = (tensor.to(device, non_blocking=True) for tensor in (self.labels, self.labelled))
        return Batch(streams, labels, labelled, self.tokens)

    def parts(self, count: int) -> list[Batch]:
        """So many parts of the rows, of nearly equal size; `tokens` stays that of the whole."""
        streams = [
            dict(zip(self.streams, part, strict=True))
            for part in zip(*(rows.parts(count) for rows in self.streams.values()), strict=True)
        ]
        labels = zip(self.labels.chunk(count), self.labelled.chunk(count), strict=True)
        return [Batch(part, *both, self.tokens) for part, both in zip(streams, labels, strict=True)]

    def every(self, step: int, *, first: int, tokens: int) -> Batch:
        """Every n-th row; `tokens` labels are in the whole batch."""
        streams = {name: rows.every(step, first=first) for name, rows in self.streams.items()}
        return Batch(streams, self.labels[first::step], self.labelled[first::step], tokens)

    def pinned(self) -> Batch:
        """The same in memory that a GPU can copy from at any time."""
        streams = {name: rows.pinned() for name, rows in self.streams.items()}
        return Batch(streams, self.labels.pin_memory(), self.labelled.pin_memory(), self.tokens)

    def tensors(self) -> list[Tensor]:
        """All tensors, in an order that is the same for all batches of a task."""
        return [tensor for rows in self.streams.values() for tensor in rows] + [self.labels, self.labelled]


def rows_of_vectors(examples: Sequence[NDArray[np.float32]]) -> Rows:
    """One example a row, each [T, F]."""
    rows = rows_of([[[0] * len(each)] for each in examples])
    vectors = np.zeros((*rows.segments.shape, examples[0].shape[1]), dtype=np.float32)
    for row, each in zip(vectors, examples, strict=True):
        row[: len(each)] = each
    return rows._replace(tokens=torch.from_numpy(vectors))


def rows_of_ids(sentences: Sequence[Sequence[int]], *, length: int) -> NDArray[np.int64]:
    """[3, B, L] what `rows_of` gives for one sentence a row, of ids that are Python's: three times as fast."""
    sizes = np.fromiter(map(len, sentences), np.int64, len(sentences))
    assert sizes.max(initial=0) <= length, f"a row of {sizes.max()} tokens does not fit into {length}"
    count = np.arange(length)
    there = count < sizes[:, None]
    filled = np.zeros((3, len(sentences), length), dtype=np.int64)
    tokens, segments, positions = filled
    tokens[there] = np.fromiter(chain.from_iterable(sentences), np.int64)
    segments[:] = there
    np.multiply(count, there, out=positions)
    return filled


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
