"""Sentences that wait for CTranslate2, and the windows of similar length that are taken from them.

CTranslate2 pads the sources of a window to the longest of them, so a window has similar lengths. In int8, only sources
of the same company may share a window (translation/engines/company.py): then padding changes none of their bits, and a
translation does not depend on the other sentences.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from math import ceil
from typing import NamedTuple

from regard.search import SearchSettings
from regard.serve.calls import Call, Item

_MOST = 32  # sentences; larger windows are hardly faster, and newcomers wait longer for them
_FEWEST = 8
_MOST_TOKENS = 1024  # of the sources in a window, padding included
_SIMILAR, _APART = 2.0, 8  # the longer of two similar lengths is at most so many times, or so many tokens, longer


Company = Callable[[int], int]
"""Tells apart the lengths that must not share a window; a length includes the end."""


def together(_: int) -> int:
    """All lengths may share a window."""
    return 0


class _Kind(NamedTuple):
    """What sentences have in common that need no padding."""

    length: int  # of the source, with its end
    settings: SearchSettings


class Windows:
    """Items that wait. The next window is the one around the call whose turn it is, with all that may join it.

    A call that has just had a window comes behind the others: every call has its turn, and a long one does not keep a
    short one waiting. Not for several threads at once: the owner holds a lock.
    """

    def __init__(self, *, company: Company = together) -> None:
        self._company = company
        self._numbers = count()
        self._turns: dict[Call, int] = {}  # a number that grows, given when a call came or last had a window
        self._items: dict[Call, dict[_Kind, deque[Item]]] = {}  # of each call, the longest first
        self._calls: dict[_Kind, dict[Call, None]] = {}  # those that have items of a kind

    def __len__(self) -> int:
        return sum(len(items) for call, kinds in self._items.items() if not call.is_over for items in kinds.values())

    def __bool__(self) -> bool:
        return bool(self._items)

    def put(self, items: Sequence[Item]) -> None:
        """More items."""
        for item in sorted(items, key=lambda item: -len(item.ids)):
            self._turns.setdefault(item.call, next(self._numbers))
            kind = _Kind(len(item.ids) + 1, item.settings)
            self._items.setdefault(item.call, {}).setdefault(kind, deque()).append(item)
            self._calls.setdefault(kind, {})[item.call] = None

    def take(self, *, workers: int) -> list[Item]:
        """The next window; the workers share what waits."""
        for call in [call for call in self._items if call.is_over]:
            self._drop(call)
        if not self._items:
            return []
        share = ceil(self._tokens() / workers)
        first = next(iter(self._items[min(self._turns, key=self._turns.__getitem__)]))
        window: list[Item] = []
        longest = tokens = 0
        for kind in self._alike(first):
            padded, items = max(longest, kind.length), self._in_turn(kind)
            while (not window or _has_room(len(window), tokens, padded, share)) and (item := next(items, None)):
                window.append(item)
                longest, tokens = padded, tokens + kind.length
        for call in dict.fromkeys(item.call for item in window if item.call in self._turns):
            self._turns[call] = next(self._numbers)
        return window

    def _tokens(self) -> int:
        """Of all sources that wait."""
        return sum(kind.length * len(items) for kinds in self._items.values() for kind, items in kinds.items())

    def _alike(self, first: _Kind) -> list[_Kind]:
        """The kinds that may join a window, the nearest lengths first."""
        kinds = [kind for kind in self._calls if self._may_join(kind, first)]
        return sorted(kinds, key=lambda kind: abs(kind.length - first.length))

    def _may_join(self, kind: _Kind, first: _Kind) -> bool:
        if kind.settings != first.settings or not _similar(kind.length, first.length):
            return False
        return self._company(kind.length) == self._company(first.length)

    def _in_turn(self, kind: _Kind) -> Iterator[Item]:
        """The items of a kind, one of each call at a time; an item has left the queue when it is given."""
        while kind in self._calls:
            for call in sorted(self._calls[kind], key=self._turns.__getitem__):
                if call.is_over:
                    self._drop(call)
                else:
                    yield self._pop(call, kind)

    def _pop(self, call: Call, kind: _Kind) -> Item:
        items = self._items[call][kind]
        item = items.popleft()
        if not items:
            del self._items[call][kind]
            self._forget(call, kind)
            if not self._items[call]:
                del self._items[call], self._turns[call]
        return item

    def _drop(self, call: Call) -> None:
        self._turns.pop(call, None)
        for kind in self._items.pop(call, {}):
            self._forget(call, kind)

    def _forget(self, call: Call, kind: _Kind) -> None:
        del self._calls[kind][call]
        if not self._calls[kind]:
            del self._calls[kind]


def _similar(one: int, other: int) -> bool:
    shorter, longer = sorted([one, other])
    return longer <= max(shorter * _SIMILAR, shorter + _APART)


def _has_room(sentences: int, tokens: int, padded: int, share: int) -> bool:
    if sentences >= _MOST or padded * (sentences + 1) > _MOST_TOKENS:
        return False
    return tokens < share or sentences < _FEWEST
