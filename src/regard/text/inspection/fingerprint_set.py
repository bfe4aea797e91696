"""A set of 64-bit fingerprints in little memory: 12 to 24 bytes each, where a set of Python's numbers takes some 70."""

from __future__ import annotations

from array import array

_SMALLEST = 1 << 10
_FREE = 0  # marks a free slot; a fingerprint of this value is kept as 1


class Fingerprints:
    """A hash table of numbers that are evenly spread already: each stands in the first free slot from its own on."""

    def __init__(self) -> None:
        self._slots = array("Q", bytes(8 * _SMALLEST))
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def __contains__(self, mark: int) -> bool:
        return self._slots[self._place(mark or 1)] != _FREE

    def add(self, mark: int) -> None:
        """Adds one that is not in the set yet."""
        mark = mark or 1
        place = self._place(mark)
        if self._slots[place] == _FREE:
            self._slots[place] = mark
            self._count += 1
            if 3 * self._count > 2 * len(self._slots):
                self._grow()

    def _place(self, mark: int) -> int:
        """Where this fingerprint stands, or would."""
        slots, last = self._slots, len(self._slots) - 1
        place = mark & last
        while slots[place] != mark and slots[place] != _FREE:
            place = (place + 1) & last
        return place

    def _grow(self) -> None:
        former = self._slots
        self._slots = array("Q", bytes(16 * len(former)))
        for mark in former:
            if mark != _FREE:
                self._slots[self._place(mark)] = mark
