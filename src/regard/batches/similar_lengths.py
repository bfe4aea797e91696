"""Sentences of similar or of the same length side by side, so that batches have little padding, or none."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby


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


def of_one_length(lengths: Sequence[int], *, tokens: int, numbers: Iterable[int]) -> Iterator[list[int]]:
    """The numbers of these sentences in batches of one length each, the longest first: nothing is padded.

    A batch has at most so many tokens, and at least one sentence; those of a length are about equally large.
    """
    for length, same in groupby(sorted(numbers, key=lambda n: -lengths[n]), key=lambda n: lengths[n]):
        group = list(same)
        batches = -(-len(group) // max(1, tokens // length))
        for batch in range(batches):
            yield group[batch * len(group) // batches : (batch + 1) * len(group) // batches]
