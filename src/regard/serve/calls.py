"""Sentences of many requests: each waits in the name of a call, and calls are served in turn.

A call is one use of an engine by one request. Its thread waits until all of its sentences have their results. A job
is the request itself: when its client goes away, its calls end at once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from threading import Event, Lock
from typing import Generic, TypeVar

from regard.search import Request, Result, SearchSettings


class Cancelled(Exception):  # noqa: N818
    """The client of this request has gone, or the request has run out of time."""


class Job:
    """One request. Cancelling it ends its calls, now and later."""

    def __init__(self) -> None:
        self._lock, self._calls, self._cancelled = Lock(), set[Call](), False

    @property
    def is_cancelled(self) -> bool:
        """Whether its results are no longer of use."""
        return self._cancelled

    def cancel(self) -> None:
        """Ends all of its calls; their sentences leave the queue and their places."""
        with self._lock:
            self._cancelled = True
            calls = list(self._calls)
        for call in calls:
            call.fail(Cancelled())

    def raise_if_cancelled(self) -> None:
        """For loops that do more than one call."""
        if self._cancelled:
            raise Cancelled

    @contextmanager
    def calling(self, call: Call) -> Iterator[None]:
        """While it lasts, the call ends with the job."""
        with self._lock:
            if self._cancelled:
                raise Cancelled
            self._calls.add(call)
        try:
            yield
        finally:
            with self._lock:
                self._calls.discard(call)


_JOB: ContextVar[Job | None] = ContextVar("job", default=None)


@contextmanager
def working_for(job: Job) -> Iterator[None]:
    """While it lasts, what this thread searches belongs to the job."""
    token = _JOB.set(job)
    try:
        yield
    finally:
        _JOB.reset(token)


def current_job() -> Job:
    """The job that this thread works for, or one of its own."""
    return _JOB.get() or Job()


class Call:
    """The sentences of one search, whose thread waits for all of their results."""

    def __init__(self, count: int) -> None:
        self._results: list[Result | None] = [None] * count
        self._left, self._lock, self._done = count, Lock(), Event()
        self._error: BaseException | None = None

    @property
    def is_over(self) -> bool:
        """Whether nothing more is of use to it."""
        return self._done.is_set()

    def put(self, number: int, result: Result) -> None:
        """The result of one of its sentences."""
        with self._lock:
            self._results[number] = result
            self._left -= 1
            if self._left == 0:
                self._done.set()

    def fail(self, error: BaseException) -> None:
        """Ends it with an error, unless it has ended."""
        with self._lock:
            if not self._done.is_set():
                self._error = error
                self._done.set()

    def results(self) -> list[Result]:
        """Waits for all results."""
        self._done.wait()
        if self._error is not None:
            raise self._error
        return [result for result in self._results if result is not None]


@dataclass(frozen=True, slots=True, eq=False)
class Item:
    """One sentence of a call."""

    call: Call
    number: int
    ids: Sequence[int]
    settings: SearchSettings
    request: Request


Fits = Callable[[Item], bool]


class Turns:
    """Items that wait. Each call in turn gives one of them, so a long call does not keep a short one waiting.

    Not for several threads at once: the owner holds a lock.
    """

    def __init__(self) -> None:
        self._turns: deque[Call] = deque()
        self._items: dict[Call, deque[Item]] = {}

    def __len__(self) -> int:
        return sum(len(items) for call, items in self._items.items() if not call.is_over)

    def __bool__(self) -> bool:
        return bool(self._turns)

    def put(self, items: Sequence[Item]) -> None:
        """More items, the longest of a call first."""
        for item in sorted(items, key=lambda item: -len(item.ids)):
            if item.call not in self._items:
                self._turns.append(item.call)
                self._items[item.call] = deque()
            self._items[item.call].append(item)

    def take(self, most: int, fits: Fits) -> list[Item]:
        """At most so many items that fit; calls whose next one does not fit keep their turn."""
        taken: list[Item] = []
        skipped: list[Call] = []
        while self._turns and len(taken) < most:
            call = self._turns.popleft()
            items = self._items[call]
            if call.is_over:
                del self._items[call]
            elif not fits(items[0]):
                skipped.append(call)
            else:
                taken.append(items.popleft())
                if items:
                    self._turns.append(call)
                else:
                    del self._items[call]
        self._turns.extendleft(reversed(skipped))
        return taken


K = TypeVar("K", bound=Hashable)


class Queues(Generic[K]):
    """Items that wait, those of each kind in a queue of their own."""

    def __init__(self, kind: Callable[[Item], K]) -> None:
        self._kind = kind
        self._queues: dict[K, Turns] = {}

    def __len__(self) -> int:
        return sum(map(len, self._queues.values()))

    def __bool__(self) -> bool:
        return bool(self._queues)

    @property
    def kinds(self) -> list[K]:
        """The kinds of which items wait."""
        return list(self._queues)

    def put(self, items: Sequence[Item]) -> None:
        """More items, the longest of a call first."""
        alike: dict[K, list[Item]] = {}
        for item in items:
            alike.setdefault(self._kind(item), []).append(item)
        for kind, some in alike.items():
            self._queues.setdefault(kind, Turns()).put(some)

    def take(self, kind: K, most: int, fits: Fits) -> list[Item]:
        """At most so many items of a kind that fit."""
        queue = self._queues.get(kind)
        taken = queue.take(most, fits) if queue else []
        if not queue:
            self._queues.pop(kind, None)
        return taken
