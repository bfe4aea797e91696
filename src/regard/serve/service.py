"""The way of a request: admitted or refused at once, worked on in a thread, and given up when its client goes away."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Lock
from typing import Any, TypeVar

from fastapi import Request

from regard.serve.answers import ApiError, slow_down
from regard.serve.calls import Cancelled, Job, working_for
from regard.serve.serve_settings import ServeSettings

T = TypeVar("T")
_LONGEST_WAIT = 30.0  # seconds that a client is asked to wait


class Admission:
    """How many requests are worked on, and how many characters they have; above the limits, none is admitted."""

    def __init__(self, settings: ServeSettings) -> None:
        self._settings, self._lock = settings, Lock()
        self.requests = self.characters = 0

    def enter(self, characters: int) -> None:
        """Takes a place, or raises 429."""
        with self._lock:
            full = self.requests >= self._settings.max_requests
            heavy = self.requests > 0 and self.characters + characters > self._settings.max_waiting
            if full or heavy:
                share = max(self.requests / self._settings.max_requests, self.characters / self._settings.max_waiting)
                raise slow_down("the server has too many requests at the moment", min(1, share) * _LONGEST_WAIT / 6)
            self.requests, self.characters = self.requests + 1, self.characters + characters

    def leave(self, characters: int) -> None:
        """Gives the place back."""
        with self._lock:
            self.requests, self.characters = self.requests - 1, self.characters - characters


class Service:
    """Threads for requests. Most of them wait for the shared engine, so there are as many as requests are admitted."""

    def __init__(self, settings: ServeSettings) -> None:
        self._settings = settings
        self.admission = Admission(settings)
        self._threads = ThreadPoolExecutor(settings.max_requests, thread_name_prefix="request")
        self._done = _Done()

    async def answer(self, request: Request, work: Callable[[], T], *, characters: int) -> T:
        """What `work` returns in a thread of its own; it ends early when the client goes away or time is over."""
        job = self.start(characters)
        future = self.submit(job, work, characters)
        gone = asyncio.ensure_future(_gone(request))
        both: set[asyncio.Future[Any]] = {future, gone}
        try:
            await asyncio.wait(both, timeout=self._settings.answer_seconds, return_when=asyncio.FIRST_COMPLETED)
            if future.done():
                return future.result()
        finally:
            gone_first = gone.done()
            gone.cancel()
            if not future.done():
                job.cancel()
                future.add_done_callback(ignore_error)
        if gone_first:
            raise Cancelled
        raise ApiError(
            503,
            f"The request took longer than {self._settings.answer_seconds:g} seconds. Send less text at a time",
            {"Retry-After": "10"},
        )

    def start(self, characters: int) -> Job:
        """Admits a request, or raises 429; `submit` must follow."""
        self.admission.enter(characters)
        return Job()

    def submit(self, job: Job, work: Callable[[], T], characters: int) -> asyncio.Future[T]:
        """Lets `work` run for a job that was started."""
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._threads.submit(self._run, job, work, characters, future)
        return future

    def _run(self, job: Job, work: Callable[[], T], characters: int, future: asyncio.Future[T]) -> None:
        found: T | None = None
        error: BaseException | None = None
        try:
            with working_for(job):
                job.raise_if_cancelled()
                found = work()
        except BaseException as raised:  # noqa: BLE001 it goes to the request
            error = raised
        finally:
            self.admission.leave(characters)
        self._done.put(future, found, error)

    @contextmanager
    def closing(self) -> Iterator[None]:
        """Ends the threads at the end."""
        try:
            yield
        finally:
            self._threads.shutdown(wait=True)


class _Done:
    """What threads have done for futures of an event loop, which is woken once for all that it has not yet seen."""

    def __init__(self) -> None:
        self._lock, self._waiting = Lock(), list[tuple[asyncio.Future[Any], Any, BaseException | None]]()

    def put(self, future: asyncio.Future[Any], found: object, error: BaseException | None) -> None:
        """A result or an error; any thread may call this."""
        with self._lock:
            self._waiting.append((future, found, error))
            first = len(self._waiting) == 1
        if first:
            future.get_loop().call_soon_threadsafe(self._hand_over)

    def _hand_over(self) -> None:
        with self._lock:
            waiting, self._waiting = self._waiting, []
        for future, found, error in waiting:
            if future.done():
                continue
            if error is None:
                future.set_result(found)
            else:
                future.set_exception(error)


async def _gone(request: Request) -> None:
    """Ends when the client has closed the connection."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


def ignore_error(future: asyncio.Future[T]) -> None:
    """Takes the error of a request whose client does not wait for it."""
    if not future.cancelled():
        future.exception()
