"""Threads that search what waits: in a session that newcomers join at the next step, or in small windows.

Our own engine searches in a session. CTranslate2 searches a batch to its end, so it gets small windows of sentences of
similar length (`windows.py`), and as many of them at once as there are cores: a sentence waits for no longer one than
itself.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from threading import Condition, Thread
from typing import Generic, NamedTuple, Protocol, TypeVar

import torch

from regard.errors import RegardError
from regard.search import Result, SearchSettings, Session
from regard.serve.calls import Call, Item, Queues
from regard.serve.windows import Company, Windows, together
from regard.translation.engines.ctranslate2 import CTranslate2Engine
from regard.translation.engines.engine import Engine
from regard.translation.engines.torch import SessionKind, TorchEngine

_MOST_TOKENS = 16384  # of the sources in sessions on a CPU
_MOVES = 4  # of a session on a GPU in a step: other threads want the interpreter as often as the host is needed
_LINGER = 0.04  # of the time of its last window, a worker waits for as many sentences as that had

Seen = Callable[[int, int], None]  # so many sentences were searched together, and so many tokens found in them


class Lane(Protocol):
    """What sentences are given to."""

    def put(self, items: Sequence[Item]) -> None:
        """They are searched as soon as there is a place for them."""

    def close(self) -> None:
        """Ends its threads once nothing waits."""

    @property
    def waiting(self) -> int:
        """How many sentences have no place yet."""
        ...


class _Queue(Protocol):
    def __bool__(self) -> bool: ...
    def __len__(self) -> int: ...
    def put(self, items: Sequence[Item]) -> None: ...


Q = TypeVar("Q", bound=_Queue)


class _Threads(Generic[Q]):
    """Threads that take items from the same queue. They end when there are none and the lane is closed.

    Items that come later start them again: a request that began before a reload ends with the models it began with.
    """

    def __init__(self, work: Callable[[], None], count: int, queue: Q) -> None:
        self.queue, self.changed = queue, Condition()
        self._closed, self._count, self._work, self._alive = False, count, work, 0
        self._wanted: list[int] = []  # for how many items each of the threads that sleep waits

    def put(self, items: Sequence[Item]) -> None:
        with self.changed:
            self.queue.put(items)
            while self._alive < self._count:
                self._alive += 1
                Thread(target=self._work, name="search", daemon=True).start()
            if self._wanted and len(self.queue) >= min(self._wanted):
                self.changed.notify_all()

    def close(self) -> None:
        with self.changed:
            self._closed = True
            self.changed.notify_all()

    @property
    def waiting(self) -> int:
        with self.changed:
            return len(self.queue)

    def wait(self) -> bool:
        """Waits for items, holding `changed`; False where none will come, and the thread must end."""
        while not self.queue and not self._closed:
            self._sleep(1)
        if not self.queue:
            self._alive -= 1
        return bool(self.queue)

    def wait_for(self, count: int, *, until: float) -> None:
        """Waits for so many items, holding `changed`, but no longer than until this time."""
        while len(self.queue) < count and (left := until - time.monotonic()) > 0:
            self._sleep(count, left)

    def _sleep(self, count: int, seconds: float | None = None) -> None:
        self._wanted.append(count)
        self.changed.wait(seconds)
        self._wanted.remove(count)


@dataclass
class _Open:
    """A session, and the sentences that are in it."""

    session: Session
    items: dict[int, Item] = field(default_factory=dict)  # by their keys in the session
    calls: Counter[Call] = field(default_factory=Counter)  # how many of the sentences each has

    def put(self, key: int, item: Item, *, end: int) -> None:
        """One more."""
        self.items[key] = item
        self.calls[item.call] += 1
        self.session.submit(key, [*item.ids, end], item.request)

    def leave(self, key: int) -> Item:
        """One less."""
        item = self.items.pop(key)
        self.calls[item.call] -= 1
        if not self.calls[item.call]:
            del self.calls[item.call]
        return item

    def cancelled(self) -> list[int]:
        """The keys of sentences whose results are no longer of use."""
        if not any(call.is_over for call in self.calls):
            return []
        return [key for key, item in self.items.items() if item.call.is_over]


class SessionLane:
    """A thread that moves all sentences one token on at a time, in as many sessions as there are kinds of them."""

    def __init__(self, engine: TorchEngine, seen: Seen) -> None:
        self._engine, self._seen = engine, seen
        self._threads = _Threads(self._run, 1, Queues(self._kind))
        self._sessions: dict[SessionKind, _Open] = {}
        self._tokens = self._last_key = 0
        self.put, self.close = self._threads.put, self._threads.close

    @property
    def waiting(self) -> int:
        """How many sentences have no place yet."""
        return self._threads.waiting

    def _run(self) -> None:
        while self._go_on():
            for kind, opened in list(self._sessions.items()):
                try:
                    with self._engine.lock, torch.no_grad():
                        self._admit(kind, opened)
                        self._step(kind, opened)
                except Exception as error:  # noqa: BLE001 it goes to the requests whose sentences these are
                    self._fail(kind, error)

    def _go_on(self) -> bool:
        """Opens sessions for what waits; waits where there is nothing at all."""
        with self._threads.changed:
            if not self._sessions and not self._threads.wait():
                return False
            new = [kind for kind in self._threads.queue.kinds if kind not in self._sessions]
        for kind in new:
            self._open(kind)
        return True

    def _open(self, kind: SessionKind) -> None:
        """A session of this kind; if it cannot be opened, the sentences that wait for it end with the error."""
        try:
            with self._engine.lock:
                self._sessions[kind] = _Open(self._engine.open_session(kind))
        except Exception as error:  # noqa: BLE001 it goes to the requests whose sentences these are
            with self._threads.changed:
                items = self._threads.queue.take(kind, len(self._threads.queue), lambda _: True)
            for item in items:
                item.call.fail(_told(error))

    def _kind(self, item: Item) -> SessionKind:
        return self._engine.kind_of_session(item.ids, item.settings, item.request)

    def _admit(self, kind: SessionKind, opened: _Open) -> None:
        for key in opened.cancelled():
            opened.session.cancel(key)
            self._leave(opened, key)
        room = opened.session.vacancies
        if room <= 0:
            return
        with self._threads.changed:
            items = self._threads.queue.take(kind, room, lambda item: kind.length > 0 or self._fits(item))
        for item in items:
            self._last_key += 1
            self._tokens += len(item.ids) + 1
            opened.put(self._last_key, item, end=self._engine.tokenisers.source.end)

    def _fits(self, item: Item) -> bool:
        """Whether there is memory for it; sessions with fixed places have theirs already."""
        return not self._tokens or self._tokens + len(item.ids) < _MOST_TOKENS

    def _step(self, kind: SessionKind, opened: _Open) -> None:
        if opened.session.is_idle:
            del self._sessions[kind]
            return
        together = len(opened.items)
        found = opened.session.step(moves=_MOVES if opened.session.may_leap else 1)
        if found:
            self._seen(together, sum(len(result.hypotheses[0].ids) + 1 for _, result in found))
        for key, result in found:
            assert isinstance(key, int)
            item = self._leave(opened, key)
            item.call.put(item.number, result)

    def _leave(self, opened: _Open, key: int) -> Item:
        item = opened.leave(key)
        self._tokens -= len(item.ids) + 1
        return item

    def _fail(self, kind: SessionKind, error: Exception) -> None:
        """The sentences of a session that broke; a request that has one of them ends with the error."""
        opened = self._sessions.pop(kind)
        with self._engine.lock:
            self._engine.forget_session(kind)
        for key in list(opened.items):
            self._leave(opened, key).call.fail(_told(error))


def _told(error: Exception) -> Exception:
    if isinstance(error, torch.cuda.OutOfMemoryError):
        return RegardError("the GPU has not enough memory for these texts.\n  Send fewer or shorter texts.")
    return error


class WindowLane:
    """Threads that search small windows of similar length, each to its end."""

    def __init__(self, search: Searches, *, workers: int, seen: Seen, company: Company = together) -> None:
        self._search, self._workers, self._seen = search, workers, seen
        self._threads = _Threads(self._run, workers, Windows(company=company))
        self.put, self.close = self._threads.put, self._threads.close

    @property
    def waiting(self) -> int:
        """How many sentences have no place yet."""
        return self._threads.waiting

    def _run(self) -> None:
        last = _Last(0, 0.0)
        while items := self._window(last):
            began = time.monotonic()
            try:
                found = self._search(items)
            except Exception as error:  # noqa: BLE001 it goes to the requests whose sentences these are
                for item in items:
                    item.call.fail(error)
                continue
            last = _Last(len(items), time.monotonic() - began)
            self._seen(len(items), sum(len(result.hypotheses[0].ids) + 1 for result in found.values()))
            for number, result in found.items():
                items[number].call.put(items[number].number, result)

    def _window(self, last: _Last) -> list[Item]:
        """The next window.

        Clients that were just answered send their next sentences within milliseconds. A worker that does not wait for
        them searches one, and the next worker few; larger windows are up to twice as fast.
        """
        threads, end = self._threads, time.monotonic() + _LINGER * last.seconds
        while True:
            with threads.changed:
                if not threads.wait():
                    return []
                threads.wait_for(last.sentences, until=end)
                items = threads.queue.take(workers=self._workers)
            if items:
                return items


class _Last(NamedTuple):
    """The last window of a worker."""

    sentences: int
    seconds: float


class Searches(Protocol):
    """What a window lane does with a window: sentences of one setting."""

    def __call__(self, items: Sequence[Item]) -> dict[int, Result]:
        """The results, by the numbers of the items; those left out have been given to another lane."""
        ...


def lane_for(engine: Engine, *, workers: int, seen: Seen) -> Lane:
    """The lane that suits an engine."""
    if isinstance(engine, TorchEngine):
        return SessionLane(engine, seen)
    if isinstance(engine, CTranslate2Engine):
        return _Converted(engine, workers=workers, seen=seen)
    return WindowLane(_whole(engine), workers=1, seen=seen)


def _whole(engine: Engine) -> Searches:
    def search(items: Sequence[Item]) -> dict[int, Result]:
        requests = [item.request for item in items]
        return dict(enumerate(engine.search([item.ids for item in items], items[0].settings, requests=requests)))

    return search


class _Converted:
    """CTranslate2 in windows; what it leaves to our own engine joins a session of that."""

    def __init__(self, engine: CTranslate2Engine, *, workers: int, seen: Seen) -> None:
        self._engine = engine
        engine.use_workers(workers)
        self._windows = WindowLane(self._attempt, workers=workers, seen=seen, company=engine.company)
        self._others = lane_for(engine.fallback, workers=workers, seen=seen)

    def put(self, items: Sequence[Item]) -> None:
        """Each goes to the engine that searches it."""
        ours = [item for item in items if not self._engine.supports(item.settings, [item.request])]
        theirs = [item for item in items if self._engine.supports(item.settings, [item.request])]
        for lane, some in ((self._others, ours), (self._windows, theirs)):
            if some:
                lane.put(some)

    def close(self) -> None:
        """Ends the threads of both."""
        self._windows.close()
        self._others.close()

    @property
    def waiting(self) -> int:
        """How many sentences have no place yet."""
        return self._windows.waiting + self._others.waiting

    def _attempt(self, items: Sequence[Item]) -> dict[int, Result]:
        settings: SearchSettings = items[0].settings
        sources, requests = [item.ids for item in items], [item.request for item in items]
        found = self._engine.attempt(sources, settings, requests=requests, cores=1)
        left = [item for number, item in enumerate(items) if number not in found]
        if left:
            self._others.put(left)
        return found
