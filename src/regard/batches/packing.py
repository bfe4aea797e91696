"""Packing: whole sentence pairs into rows, so that both sides of a row are nearly full.

Pairs are dealt like cards, longest first: in each round the largest waiting pairs go to the rows with the most room,
one each. Among rows of about the same room, those with more room on the source's side get the pairs whose source is
the longer side, so that both sides fill up together. Rounds are array operations: a pair costs a fraction of a
microsecond. What fits nowhere makes one more group of rows necessary, and all is dealt anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_FILL = 0.99  # what is tried first; the two sides of a corpus are hardly ever equal enough for more
_ALIKE = 256  # so many neighbours in the order of their size count as about the same

Numbers = NDArray[np.int64]


class Packed(NamedTuple):
    """Rows of one length: which pair stands in which row; the pairs of a row are neighbours."""

    length: int
    pairs: Numbers
    rows: Numbers  # not falling


def pack(sources: Numbers, targets: Numbers, *, lengths: Sequence[int], groups: Sequence[int]) -> list[Packed]:
    """All pairs, whose sides have these lengths, in rows of the given `lengths`, a multiple of `groups[i]` of each.

    A pair goes into the shortest rows that can hold it, or fills up longer ones. Rows stay empty only at the end.
    """
    sizes = np.maximum(sources, targets)
    assert not len(sizes) or sizes.max() <= lengths[-1], "a pair is longer than the longest row"
    waiting = np.arange(len(sizes))
    packed = []
    for i in reversed(range(len(lengths))):
        must = waiting[sizes[waiting] > lengths[i - 1]] if i else waiting
        if len(must):
            may = waiting[sizes[waiting] <= lengths[i - 1]] if i else waiting[:0]
            pairs, rows = _fill_rows(sources, targets, must, may, length=lengths[i], group=groups[i])
            packed.append(Packed(lengths[i], pairs, rows))
            waiting = np.setdiff1d(waiting, pairs, assume_unique=True)
    return packed


def one_a_row(sources: Numbers, targets: Numbers, *, lengths: Sequence[int]) -> list[Packed]:
    """Every pair in a row of its own, the shortest that holds it."""
    shortest = np.searchsorted(np.asarray(lengths), np.maximum(sources, targets))
    packed = []
    for i in np.unique(shortest):
        pairs = np.flatnonzero(shortest == i)
        packed.append(Packed(lengths[i], pairs, np.arange(len(pairs))))
    return packed


def _fill_rows(
    sources: Numbers, targets: Numbers, must: Numbers, may: Numbers, *, length: int, group: int
) -> tuple[Numbers, Numbers]:
    """As few groups of rows as hold all pairs that must be there; others that may be there fill them up."""
    needed = max(sources[must].sum(), targets[must].sum()) / (length * _FILL)
    count = max(1, int(np.ceil(needed / group))) * group
    while True:
        room = count * length * _FILL
        taken = np.concatenate([must, may])
        taken = taken[np.maximum(sources[taken].cumsum(), targets[taken].cumsum()) <= room]
        taken = taken if len(taken) > len(must) else must
        rows = _deal(sources[taken], targets[taken], first=len(must), length=length, count=count)
        if (rows[: len(must)] >= 0).all():
            placed = rows >= 0
            order = np.argsort(rows[placed], kind="stable")
            return taken[placed][order], rows[placed][order]
        count += group


def _deal(sources: Numbers, targets: Numbers, *, first: int, length: int, count: int) -> Numbers:
    """The row of each pair, or -1. The first so many are dealt before the others."""
    source_room, target_room = np.full(count, length), np.full(count, length)
    sizes = np.maximum(sources, targets)
    row_of = np.full(len(sizes), -1)
    waiting = np.lexsort((-sizes, np.arange(len(sizes)) >= first))
    while len(waiting):
        dealt = waiting[:count]
        rows = np.argsort(-np.minimum(source_room, target_room), kind="stable")[: len(dealt)]
        alike = np.arange(len(dealt)) // _ALIKE
        dealt = dealt[np.lexsort((sources[dealt] - targets[dealt], alike))]
        rows = rows[np.lexsort((source_room[rows] - target_room[rows], alike))]
        fits = (sources[dealt] <= source_room[rows]) & (targets[dealt] <= target_room[rows])
        row_of[dealt[fits]] = rows[fits]
        source_room[rows[fits]] -= sources[dealt[fits]]
        target_room[rows[fits]] -= targets[dealt[fits]]
        waiting = waiting[row_of[waiting] < 0]
        waiting = waiting[sizes[waiting] <= np.minimum(source_room, target_room).max(initial=0)]
        if not fits.any():
            break
    return row_of
