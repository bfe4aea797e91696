"""Sentences of similar length side by side, so that batches have little padding."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence


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
