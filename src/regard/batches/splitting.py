"""Holding pairs out of a corpus, so that no sentence of the source stands on both sides."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from regard.batches.corpus import StoredCorpus
from regard.batches.fingerprints import fingerprints
from regard.batches.shuffle import shuffled

_BLOCK = 1 << 18


def hold_out(corpus: StoredCorpus, *, count: int, seed: int) -> tuple[StoredCorpus, StoredCorpus]:
    """The corpus without some pairs, and these, at most `count`; pairs with the source of one of these are gone."""
    pairs = len(corpus)
    marks = _source_marks(corpus)
    chosen = np.sort(shuffled(np.arange(min(count, pairs)), count=pairs, key=(seed, "held out")))
    rest = np.flatnonzero(~np.isin(marks, marks[chosen]))
    return corpus.take(rest), corpus.take(chosen)


def _source_marks(corpus: StoredCorpus) -> NDArray[np.uint64]:
    side = corpus.source
    marks = np.zeros(len(corpus), dtype=np.uint64)
    for first in range(0, len(corpus), _BLOCK):
        lengths = side.lengths[first : first + _BLOCK]
        ends = lengths.cumsum(dtype=np.int64)
        places = np.arange(ends[-1]) + np.repeat(side.starts[first : first + _BLOCK] - (ends - lengths), lengths)
        marks[first : first + _BLOCK] = fingerprints(side.tokens[places], lengths, salt=1)
    return marks
