"""Packing: whole sentence pairs into rows, so that both sides of a row are nearly full.

Large pairs are dealt like cards: in each round the largest that wait go to the rows with the most room, one each. Among
rows of about the same room, those with more room on the source's side get the pairs whose source is the longer side,
so that both sides fill up together. When only small pairs wait, it is the rows that choose: each takes the largest
pair for which it has room on both sides, as long as there is one. What fits nowhere makes one more group of rows
necessary, and all is dealt again.

Both are array operations over all rows at once: a pair costs about a third of a microsecond.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

REACHED = 0.9925  # of the places on the fuller side, by usual sentences in rows of 128

_FILL = 0.995  # what is tried first; the two sides of a corpus are hardly ever equal enough for more
_ALIKE = 256  # so many neighbours in the order of their size count as about the same
_CHOSEN = 1.5  # so many pairs for each row, the smallest, are chosen by rows rather than dealt
_SIZES = 48  # at first no more sizes of a side than these are told apart: fewer rounds until all have chosen
_MOST_SIZES = 512  # and never more than these

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


def order_of(numbers: Numbers, *, most: int) -> Numbers:
    """The order that sorts numbers from 0 to `most`, equal ones as they come; those of few bits are sorted quickest."""
    return np.argsort(numbers.astype(np.min_scalar_type(most)), kind="stable")


def _fill_rows(
    sources: Numbers, targets: Numbers, must: Numbers, may: Numbers, *, length: int, group: int
) -> tuple[Numbers, Numbers]:
    """As few groups of rows as hold all pairs that must be there; others that may be there fill them up."""
    alone = max((2 * side[must] > length).sum() for side in (sources, targets))  # no two of these share a row
    needed = max(alone, _tokens(sources, targets, must) / (length * _FILL))
    count = max(1, int(np.ceil(needed / group))) * group
    while True:
        room = count * length * _FILL
        taken = np.concatenate([must, may])
        taken = taken[np.maximum(sources[taken].cumsum(), targets[taken].cumsum()) <= room]
        taken = taken if len(taken) > len(must) else must
        rows = _place(sources[taken], targets[taken], first=len(must), length=length, count=count)
        missing = must[rows[: len(must)] < 0]
        if not len(missing):
            placed = rows >= 0
            order = order_of(rows[placed], most=count)
            return taken[placed][order], rows[placed][order]
        count += max(1, _tokens(sources, targets, missing) // (length * group)) * group


def _tokens(sources: Numbers, targets: Numbers, pairs: Numbers) -> int:
    """Those of the fuller side."""
    return max(int(sources[pairs].sum()), int(targets[pairs].sum()))


def _place(sources: Numbers, targets: Numbers, *, first: int, length: int, count: int) -> Numbers:
    """The row of each pair, or -1. As long as one of the first so many has no row, the others are not chosen."""
    rows = _Rows(sources, targets, length=length, count=count)
    waiting = rows.deal(until=max(0, min(int(count * _CHOSEN), len(sources) - count)))
    rows.choose(waiting[waiting < first])
    if (rows.of[:first] >= 0).all():
        rows.choose(waiting[waiting >= first])
    return rows.of


class _Rows:
    """Rows that are being filled; `of` is the row of each pair, or -1."""

    def __init__(self, sources: Numbers, targets: Numbers, *, length: int, count: int) -> None:
        self.sources, self.targets, self.length = sources, targets, length
        self.source_room, self.target_room = np.full(count, length), np.full(count, length)
        self.of = np.full(len(sources), -1)

    def deal(self, *, until: int) -> Numbers:
        """The largest pairs first, one to each row, until no more than so many wait, or none fits; those that wait."""
        waiting = order_of(self.length - np.maximum(self.sources, self.targets), most=self.length)
        while len(waiting) > until:
            dealt = waiting[: min(len(self.source_room), len(waiting) - until)]
            taken = self.length - np.minimum(self.source_room, self.target_room)
            rows = order_of(taken, most=self.length)[: len(dealt)]
            dealt = self._alike(dealt, self.sources[dealt] - self.targets[dealt])
            rows = self._alike(rows, self.source_room[rows] - self.target_room[rows])
            fits = (self.sources[dealt] <= self.source_room[rows]) & (self.targets[dealt] <= self.target_room[rows])
            if not fits.any():
                break
            self._put(dealt[fits], rows[fits])
            waiting = waiting[self.of[waiting] < 0]
        return waiting

    def _alike(self, numbers: Numbers, leanings: Numbers) -> Numbers:
        """Neighbours of about the same size, sorted by how much longer the source's side is."""
        order = order_of(leanings + self.length, most=2 * self.length)
        return numbers[order[order_of(order // _ALIKE, most=len(order))]]

    def choose(self, waiting: Numbers) -> None:
        """Each row takes the largest of these pairs that it has room for, again and again, until none fits any."""
        largest = max(self.sources[waiting].max(initial=0), self.targets[waiting].max(initial=0))
        unit, finest = 1 + int(largest) // _SIZES, 1 + int(largest) // _MOST_SIZES
        while unit >= finest and len(waiting):
            self._choose(waiting, unit)
            waiting = waiting[self.of[waiting] < 0]
            unit //= 2

    def _choose(self, waiting: Numbers, unit: int) -> None:
        """The same, where sizes are rounded up to multiples of the unit."""
        shelves = _Shelves(self.sources[waiting], self.targets[waiting], length=self.length, unit=unit)
        rows = np.arange(len(self.source_room))
        rooms = shelves.rooms(self.source_room, self.target_room)
        while len(rows):
            wanted = shelves.wanted(rooms[rows])
            rows, wanted = rows[wanted > 0], wanted[wanted > 0]
            order, pairs = shelves.take(wanted)
            taking = rows[order]
            self._put(waiting[pairs], taking)
            rooms[taking] = shelves.rooms(self.source_room[taking], self.target_room[taking])

    def _put(self, pairs: Numbers, rows: Numbers) -> None:
        self.of[pairs] = rows
        self.source_room[rows] -= self.sources[pairs]
        self.target_room[rows] -= self.targets[pairs]


class _Shelves:
    """Pairs sorted by their size: all that are as wide and as high lie on one shelf; shelf 0 is empty.

    A shelf's number is its rank by width and height together. A room is a place in the table of widths by heights.
    """

    def __init__(self, widths: Numbers, heights: Numbers, *, length: int, unit: int) -> None:
        wide, across = np.unique(-(-widths // unit) * unit, return_inverse=True)
        high, down = np.unique(-(-heights // unit) * unit, return_inverse=True)
        sums = np.add.outer(np.append(0, wide), np.append(0, high))
        self.shelves = np.argsort(np.argsort(sums, axis=None, kind="stable"), kind="stable")
        self.shelves = self.shelves.astype(np.min_scalar_type(sums.size)).reshape(sums.shape)
        self.across = np.searchsorted(wide, np.arange(length + 1), side="right") * sums.shape[1]
        self.down = np.searchsorted(high, np.arange(length + 1), side="right")
        shelf = self.shelves[across + 1, down + 1]
        self.pairs = np.argsort(shelf, kind="stable")
        self.left = np.bincount(shelf, minlength=sums.size)
        self.ends = self.left.cumsum()

    def rooms(self, widths: Numbers, heights: Numbers) -> Numbers:
        """What fits into so much room, as a place in the table."""
        rooms: Numbers = self.across[widths] + self.down[heights]
        return rooms

    def wanted(self, rooms: Numbers) -> NDArray[Any]:
        """The last shelf that is not empty and whose pairs fit into each room; 0 without such a shelf."""
        best = np.where(self.left[self.shelves] > 0, self.shelves, 0).astype(self.shelves.dtype)
        best = np.maximum.accumulate(np.maximum.accumulate(best, axis=0), axis=1)
        return best.ravel()[rooms]

    def take(self, wanted: NDArray[Any]) -> tuple[Numbers, Numbers]:
        """Pairs from these shelves, as many as there are: whose wishes are fulfilled, and the pair of each."""
        counts = np.bincount(wanted, minlength=len(self.left))
        order = np.argsort(wanted, kind="stable")
        wanted = wanted[order]
        turn = np.arange(len(wanted)) - (counts.cumsum() - counts)[wanted]
        gets = turn < self.left[wanted]
        pairs = self.pairs[(self.ends - self.left)[wanted[gets]] + turn[gets]]
        self.left -= np.minimum(self.left, counts)
        return order[gets], pairs
