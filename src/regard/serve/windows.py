"""Sentences that wait for CTranslate2, and the windows of similar length that are taken from them.

CTranslate2 pads the sources of a batch to the longest of them, and padding changes the last bits of some sums. In
float32 this decides only between words that are equally likely to about six digits. In int8, states are rounded to 255
steps: a last bit may move a state by a whole step, and now and then another word wins. Sources of equal length need no
padding, and have the same bits in windows of any size. So int8 gets windows of equal length, and a translation does not
depend on its company.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from math import ceil
from typing import NamedTuple

from regard.search import SearchSettings
from regard.serve.calls import Call, Item

_MOST = 32  # sentences; larger windows are hardly faster, and newcomers wait longer for them
_FEWEST = 8
_MOST_TOKENS = 1024  # of the sources in a window, padding included
_SIMILAR, _APART = 2.0, 8  # the longer of two similar lengths is at most so many times, or so many tokens, longer


class _Kind(NamedTuple):
    """What sentences have in common that may be searched without padding."""

    length: int  # of the source, with its end
    settings: SearchSettings


class Windows:
    """Items that wait. The next window is the one for whose sentences calls have waited longest, all together.

    So windows are large, nobody waits for ever, and a call that has just had a window comes behind the others: a long
    call does not keep a short one waiting. Not for several threads at once: the owner holds a lock.
    """

    def __init__(self, *, equal: bool, clock: Callable[[], float] = time.monotonic) -> None:
        self._equal, self._clock = equal, clock  # `equal`: whether all sources of a window have the same length
        self._since: dict[Call, float] = {}  # when a call came, or had its last sentence in a window
        self._items: dict[Call, dict[_Kind, deque[Item]]] = {}  # of each call, the longest first
        self._calls: dict[_Kind, dict[Call, None]] = {}  # those that have items of a kind

    def __len__(self) -> int:
        return sum(len(items) for call, kinds in self._items.items() if not call.is_over for items in kinds.values())

    def __bool__(self) -> bool:
        return bool(self._items)

    def put(self, items: Sequence[Item]) -> None:
        """More items."""
        now = self._clock()
        for item in sorted(items, key=lambda item: -len(item.ids)):
            self._since.setdefault(item.call, now)
            kind = _Kind(len(item.ids) + 1, item.settings)
            self._items.setdefault(item.call, {}).setdefault(kind, deque()).append(item)
            self._calls.setdefault(kind, {})[item.call] = None

    def take(self, *, workers: int) -> list[Item]:
        """The next window; the workers share what waits."""
        for call in [call for call in self._items if call.is_over]:
            self._drop(call)
        if not self._items:
            return []
        now, share = self._clock(), ceil(self._tokens() / workers)
        first = self._most_waited_for(now)
        window: list[Item] = []
        longest = tokens = 0
        for kind in self._alike(first):
            padded, items = max(longest, kind.length), self._in_turn(kind)
            while (not window or _has_room(len(window), tokens, padded, share)) and (item := next(items, None)):
                window.append(item)
                longest, tokens = padded, tokens + kind.length
        for call in {item.call for item in window} & self._since.keys():
            self._since[call] = now
        return window

    def _most_waited_for(self, now: float) -> _Kind:
        """The kind whose window would end the most waiting."""

        def waited(kind: _Kind) -> float:
            calls = {call for other in self._alike(kind) for call in self._calls[other]}
            return sum(now - self._since[call] for call in calls)

        return max(self._calls, key=waited)

    def _tokens(self) -> int:
        """Of all sources that wait."""
        return sum(kind.length * len(items) for kinds in self._items.values() for kind, items in kinds.items())

    def _alike(self, first: _Kind) -> list[_Kind]:
        """The kinds that may join a window, the nearest lengths first."""
        if self._equal:
            return [first]
        kinds = [
            kind for kind in self._calls if kind.settings == first.settings and _similar(kind.length, first.length)
        ]
        return sorted(kinds, key=lambda kind: abs(kind.length - first.length))

    def _in_turn(self, kind: _Kind) -> Iterator[Item]:
        """The items of a kind, one of each call at a time; an item has left the queue when it is given."""
        while kind in self._calls:
            for call in sorted(self._calls[kind], key=self._since.__getitem__):
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
                del self._items[call], self._since[call]
        return item

    def _drop(self, call: Call) -> None:
        self._since.pop(call, None)
        for kind in self._items.pop(call, {}):
            self._forget(call, kind)

    def _forget(self, call: Call, kind: _Kind) -> None:
        del self._calls[kind][call]
        if not self._calls[kind]:
            del self._calls[kind]


def _similar(one: int, other: int) -> bool:
    shorter, longer = sorted([one, other])
    return longer <= max(shorter * _SIMILAR, shorter + _APART)


def _has_room(count: int, tokens: int, padded: int, share: int) -> bool:
    if count >= _MOST or padded * (count + 1) > _MOST_TOKENS:
        return False
    return tokens < share or count < _FEWEST
