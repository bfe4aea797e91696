"""Stretches: the documents of a stored corpus, cut into pieces that fit into rows, elsewhere in every epoch.

A document that is longer than a row is cut into stretches. Where the first cut is made depends on the seed and the
epoch, so that a token stands at many positions and after contexts of many lengths. Neighbours may share tokens: a
language model reads the last token of a stretch again at the beginning of the next one, and every token but the first
of a document is predicted exactly once an epoch.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.batches.corpus import StoredCorpus, Stream
from regard.batches.shuffle import mixed

Numbers = NDArray[np.int64]


class Stretches(StoredCorpus):
    """A corpus of stretches of at most `length` tokens of the documents of `whole`, as they are in one epoch."""

    def __init__(self, whole: StoredCorpus, *, length: int, shared: int, seed: int | None = None) -> None:
        assert length > shared
        self.folder, self.description, self.whole = whole.folder, whole.description, whole
        self.length, self.shared, self.seed = length, shared, seed
        self._epoch = 0
        self._cut()

    def in_epoch(self, epoch: int) -> Stretches:
        """The same with the cuts of an epoch; without a seed, these are the same in all epochs."""
        if epoch != self._epoch and self.seed is not None:
            self._epoch = epoch
            self._cut()
        return self

    def _cut(self) -> None:
        ((name, stream),) = self.whole.streams.items()
        documents = stream.lengths.astype(np.int64)
        step = self.length - self.shared
        first = self._first_cuts(documents, step)
        self.streams = {name: Stream(stream.tokens, *_cuts(stream.starts, documents, first, step, self.shared))}

    def _first_cuts(self, documents: Numbers, step: int) -> Numbers:
        """[documents] how many tokens stand before the first cut; those of short documents all do."""
        if self.seed is None:
            return np.full(len(documents), step, dtype=np.int64)
        salt = np.uint64((self.seed * 1_000_003 + self._epoch) % 2**63)
        draws = mixed(mixed(np.arange(len(documents), dtype=np.uint64) + salt) + salt)
        cut = (draws % np.uint64(step)).astype(np.int64) + 1
        return np.where(documents <= self.length, step, cut)


def _cuts(
    starts: NDArray[Any], lengths: Numbers, first: Numbers, step: int, shared: int
) -> tuple[Numbers, NDArray[np.int32]]:
    """Where stretches start, and their lengths: `first` tokens, then `step` by `step`; each has `shared` ones more."""
    moves = np.maximum(0, lengths - shared - first)  # what is left after the first stretch
    counts = 1 + -(-moves // step)
    document = np.repeat(np.arange(len(lengths)), counts)
    number = np.arange(len(document)) - np.repeat(counts.cumsum() - counts, counts)
    begins = np.where(number == 0, 0, first[document] + (number - 1) * step)
    ends = np.minimum(first[document] + number * step + shared, lengths[document])
    return starts[document] + begins, (ends - begins).astype(np.int32)


def split_end(corpus: StoredCorpus, *, share: float) -> tuple[StoredCorpus, StoredCorpus]:
    """The corpus without its last tokens, and these: a tenth of all tokens is a `share` of 0.1.

    One document may be on both sides, cut in two.
    """
    ((name, stream),) = corpus.streams.items()
    lengths = stream.lengths.astype(np.int64)
    kept = int(lengths.sum() * (1 - share))
    ends = lengths.cumsum()
    before = np.clip(kept - (ends - lengths), 0, lengths)
    first = _part(corpus, name, stream, stream.starts.astype(np.int64), before)
    last = _part(corpus, name, stream, stream.starts + before, lengths - before)
    return first, last


def _part(corpus: StoredCorpus, name: str, stream: Stream, starts: Numbers, lengths: Numbers) -> StoredCorpus:
    there = lengths > 0
    part = corpus.take(np.arange(0))
    part.streams = {name: Stream(stream.tokens, starts[there], lengths[there].astype(np.int32))}
    return part
