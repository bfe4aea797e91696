"""Leases: files that say which process works on what, and that expire when it no longer does.

The owner of a lease touches its file several times while a lease lasts. Others look at the file, and take the lease
over when they have seen no touch for as long as it lasts. They measure this time with their own clock, so the clocks of
machines may differ. A lease of a process that ended on the same machine is over at once.

A lease saves work; it protects nothing. In rare moments, two processes have the same lease, for example when the owner
was suspended for a while. What they write must therefore be the same, and appear whole.
"""

from __future__ import annotations

import json
import os
import secrets
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Event, Lock, Thread
from typing import NamedTuple, Self

from regard.owners import Owner, this_process

LASTS = 60.0  # seconds
_TOUCHES = 6  # while a lease lasts


class _Lease(NamedTuple):
    """What stands in the file of a lease, and when it was touched."""

    content: bytes
    touched: int

    @property
    def owner(self) -> Owner | None:
        """The owner; None in the moment before the file is written."""
        try:
            return Owner(**json.loads(self.content)["owner"])
        except (ValueError, TypeError, KeyError):
            return None

    def lasts(self, otherwise: float) -> float:
        """For how many seconds without a touch this lease is good."""
        try:
            return float(json.loads(self.content)["lasts"])
        except (ValueError, TypeError, KeyError):
            return otherwise


class _Seen(NamedTuple):
    lease: _Lease
    at: float


class Leases:
    """The leases in a folder, and those of them that this process has; they are touched within the context."""

    def __init__(self, folder: Path, *, lasts: float = LASTS, clock: Callable[[], float] = time.monotonic) -> None:
        self.lasts = lasts
        self._folder, self._clock = folder, clock
        table = {"owner": this_process()._asdict(), "lasts": lasts, "holder": secrets.token_hex(8)}
        self._content = json.dumps(table).encode()
        self._held: set[str] = set()
        self._seen: dict[str, _Seen] = {}
        self._lock, self._ended = Lock(), Event()

    def __enter__(self) -> Self:
        Thread(target=self._touch_often, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        for name in list(self._held):
            self.release(name)

    def take(self, name: str) -> bool:
        """Takes a lease that no other process has, or whose time is over; False where another has it."""
        place = self._folder / name
        if not self._make(place):
            found = _read(place)
            if found is None or not self._is_over(name, found) or not _removed(place, found.__eq__):
                return False
            if not self._make(place):
                return False
        with self._lock:
            self._held.add(name)
            self._seen.pop(name, None)
        return True

    def release(self, name: str) -> None:
        """Gives a lease back; one that another process has taken over stays."""
        with self._lock:
            self._held.discard(name)
        place = self._folder / name
        found = _read(place)
        if found and found.content == self._content:
            _removed(place, lambda lease: lease is not None and lease.content == self._content)

    def owner(self, name: str) -> Owner | None:
        """Who has a lease."""
        found = _read(self._folder / name)
        return found.owner if found else None

    def touch(self) -> None:
        """Shows that this process still works on what it has leases for."""
        with self._lock:
            held = list(self._held)
        for name in held:
            with suppress(OSError):
                self._touch(self._folder / name)

    def _touch(self, place: Path) -> None:
        """By an open file: a lease that is taken over in this moment is not touched for its new owner."""
        file = os.open(place, os.O_RDWR)
        try:
            if os.read(file, 4096) == self._content:
                os.utime(file)
        finally:
            os.close(file)

    def _touch_often(self) -> None:
        while not self._ended.wait(self.lasts / _TOUCHES):
            self.touch()

    def _make(self, place: Path) -> bool:
        try:
            file = os.open(place, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644)
        except FileExistsError:
            return False
        try:
            os.write(file, self._content)
        finally:
            os.close(file)
        return True

    def _is_over(self, name: str, found: _Lease) -> bool:
        owner = found.owner
        if owner and owner.is_here and not owner.is_alive:
            return True
        seen = self._seen.get(name)
        if seen is None or seen.lease != found:
            self._seen[name] = _Seen(found, self._clock())
            return False
        return self._clock() - seen.at >= found.lasts(self.lasts)


def _read(place: Path) -> _Lease | None:
    """The content of the file now; None if it does not exist."""
    try:
        with place.open("rb") as file:
            return _Lease(file.read(4096), os.fstat(file.fileno()).st_mtime_ns)
    except OSError:
        return None


def _removed(place: Path, is_meant: Callable[[_Lease | None], bool]) -> bool:
    """Removes a lease; where another one has taken its place, that is put back, and False is returned."""
    aside = place.with_name(f".{place.name}.{secrets.token_hex(4)}")
    try:
        place.rename(aside)
    except OSError:
        return False
    meant = is_meant(_read(aside))
    with suppress(OSError):
        if not meant:
            os.link(aside, place)
    aside.unlink(missing_ok=True)
    return meant
