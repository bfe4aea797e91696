"""How much a key or an address may ask for in a minute: a bucket for each, which fills evenly."""

from __future__ import annotations

import time
from collections import OrderedDict
from threading import Lock
from typing import NamedTuple

from regard.serve.answers import slow_down

_MOST = 100_000  # buckets that are kept; beyond, the least recently used one is forgotten, and is full again


class Allowance(NamedTuple):
    """In a minute; 0 is no limit."""

    requests: int = 0
    characters: int = 0


class _Bucket:
    __slots__ = ("characters", "requests", "when")

    def __init__(self, allowance: Allowance, now: float) -> None:
        self.requests, self.characters, self.when = float(allowance.requests), float(allowance.characters), now


class Limits:
    """The buckets of all clients."""

    def __init__(self) -> None:
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()
        self._lock = Lock()

    def spend(self, client: str, allowance: Allowance, characters: int) -> None:
        """One request of so many characters, or 429. A request larger than a full bucket needs a full one."""
        if not any(allowance):
            return
        now = time.monotonic()
        with self._lock:
            bucket = self._bucket(client, allowance, now)
            waits = [
                _wait(bucket.requests, 1, allowance.requests),
                _wait(bucket.characters, min(characters, allowance.characters), allowance.characters),
            ]
            if max(waits) > 0:
                limit = (
                    f"{allowance.requests:,} requests"
                    if waits[0] >= waits[1]
                    else (f"{allowance.characters:,} characters")
                )
                raise slow_down(f"{limit} per minute are allowed", max(waits) + 0.5)
            bucket.requests -= 1
            bucket.characters -= characters

    def _bucket(self, client: str, allowance: Allowance, now: float) -> _Bucket:
        bucket = self._buckets.pop(client, None) or _Bucket(allowance, now)
        minutes = (now - bucket.when) / 60
        bucket.requests = min(allowance.requests, bucket.requests + allowance.requests * minutes)
        bucket.characters = min(allowance.characters, bucket.characters + allowance.characters * minutes)
        bucket.when = now
        self._buckets[client] = bucket
        while len(self._buckets) > _MOST:
            self._buckets.popitem(last=False)
        return bucket


def _wait(there: float, wanted: float, per_minute: int) -> float:
    """Seconds until there is enough."""
    return max(0.0, (wanted - there) / per_minute * 60) if per_minute else 0.0
