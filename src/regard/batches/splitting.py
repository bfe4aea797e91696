"""Holding examples out of a corpus, so that no sentence of its first stream is in both parts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from regard.batches.corpus import StoredCorpus
from regard.batches.fingerprints import fingerprints
from regard.batches.shuffle import shuffled

_BLOCK = 1 << 18


def hold_out(corpus: StoredCorpus, *, count: int, seed: int) -> tuple[StoredCorpus, StoredCorpus]:
    """The corpus without some examples, and these, at most `count`; others that begin like one of these are gone."""
    pairs = len(corpus)
    marks = _marks(corpus)
    chosen = np.sort(shuffled(np.arange(min(count, pairs)), count=pairs, key=(seed, "held out")))
    rest = np.flatnonzero(~np.isin(marks, marks[chosen]))
    return corpus.take(rest), corpus.take(chosen)


def _marks(corpus: StoredCorpus) -> NDArray[np.uint64]:
    side = next(iter(corpus.streams.values()))
    marks = np.zeros(len(corpus), dtype=np.uint64)
    for first in range(0, len(corpus), _BLOCK):
        lengths = side.lengths[first : first + _BLOCK]
        ends = lengths.cumsum(dtype=np.int64)
        places = np.arange(ends[-1]) + np.repeat(side.starts[first : first + _BLOCK] - (ends - lengths), lengths)
        marks[first : first + _BLOCK] = fingerprints(side.tokens[places], lengths, salt=1)
    return marks
