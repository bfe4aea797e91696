"""Holding examples out of a corpus, so that no sentence of its first stream is in both parts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from regard.batches.corpus import StoredCorpus, Stream
from regard.batches.fingerprints import fingerprints, numbers_of
from regard.batches.shuffle import mixed, shuffled

_BLOCK = 1 << 18


def hold_out(
    corpus: StoredCorpus, *, count: int, seed: int, by: str | None = None
) -> tuple[StoredCorpus, StoredCorpus]:
    """The corpus without some examples, and these, at most `count`; others with the same text as one of these are gone.

    The text is that of the first stream, or of the one that `by` names.
    """
    by = by or next(iter(corpus.streams))
    pairs = len(corpus)
    chosen = np.sort(shuffled(np.arange(min(count, pairs)), count=pairs, key=(seed, "held out")))
    rough = _rough_marks(corpus.streams[by])
    similar = np.flatnonzero(np.isin(rough, rough[chosen]))  # few, so that few sentences are read as a whole
    marks = _marks(corpus.take(similar).streams[by])
    gone = similar[np.isin(marks, marks[np.searchsorted(similar, chosen)])]
    return corpus.take(np.delete(np.arange(pairs), gone)), corpus.take(chosen)


def _rough_marks(side: Stream) -> NDArray[np.uint64]:
    """The length, the first and the middle token of each sentence: equal where sentences are equal."""
    starts, lengths = side.starts.astype(np.int64), side.lengths.astype(np.int64)
    first, middle = numbers_of(side.tokens[starts]), numbers_of(side.tokens[starts + lengths // 2])
    return mixed(mixed(first + (lengths.astype(np.uint64) << np.uint64(32))) + middle)


def _marks(side: Stream) -> NDArray[np.uint64]:
    count = len(side.lengths)
    marks = np.zeros(count, dtype=np.uint64)
    for first in range(0, count, _BLOCK):
        lengths = side.lengths[first : first + _BLOCK]
        ends = lengths.cumsum(dtype=np.int64)
        places = np.arange(ends[-1]) + np.repeat(side.starts[first : first + _BLOCK] - (ends - lengths), lengths)
        marks[first : first + _BLOCK] = fingerprints(side.tokens[places], lengths, salt=1)
    return marks
