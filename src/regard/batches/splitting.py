"""Holding pairs out of a corpus, so that no sentence of the source stands on both sides."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from regard.batches.corpus import StoredCorpus
from regard.batches.fingerprints import fingerprints
from regard.batches.shuffle import mixed, shuffled

_BLOCK = 1 << 18


def hold_out(corpus: StoredCorpus, *, count: int, seed: int) -> tuple[StoredCorpus, StoredCorpus]:
    """The corpus without some pairs, and these, at most `count`; pairs with the source of one of these are gone."""
    pairs = len(corpus)
    chosen = np.sort(shuffled(np.arange(min(count, pairs)), count=pairs, key=(seed, "held out")))
    rough = _rough_marks(corpus)
    similar = np.flatnonzero(np.isin(rough, rough[chosen]))  # few, so that few sentences are read as a whole
    marks = _source_marks(corpus.take(similar))
    gone = similar[np.isin(marks, marks[np.searchsorted(similar, chosen)])]
    return corpus.take(np.delete(np.arange(pairs), gone)), corpus.take(chosen)


def _rough_marks(corpus: StoredCorpus) -> NDArray[np.uint64]:
    """Of each source, its length, its first token and the one in its middle: equal where sentences are equal."""
    side = corpus.source
    starts, lengths = side.starts.astype(np.int64), side.lengths.astype(np.int64)
    first, middle = side.tokens[starts].astype(np.uint64), side.tokens[starts + lengths // 2].astype(np.uint64)
    return mixed(mixed(first + (lengths.astype(np.uint64) << np.uint64(32))) + middle)


def _source_marks(corpus: StoredCorpus) -> NDArray[np.uint64]:
    side = corpus.source
    marks = np.zeros(len(corpus), dtype=np.uint64)
    for first in range(0, len(corpus), _BLOCK):
        lengths = side.lengths[first : first + _BLOCK]
        ends = lengths.cumsum(dtype=np.int64)
        places = np.arange(ends[-1]) + np.repeat(side.starts[first : first + _BLOCK] - (ends - lengths), lengths)
        marks[first : first + _BLOCK] = fingerprints(side.tokens[places], lengths, salt=1)
    return marks
