"""How long a step takes, measured while training goes on. The first steps, which compile things, do not count."""

from __future__ import annotations

import time
from collections.abc import Callable

_UNCOUNTED = 3  # steps
_FIRST = 8  # steps that are measured before the first answer


class Pace:
    """The speed of a run since it began or went on."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._seen = self._from_step = 0
        self._from_time = 0.0

    def is_due(self, step: int, *, every: int) -> bool:
        """Takes note of a step; True after 8, 16, 32, ... measured ones, and at every validation."""
        self._seen += 1
        if self._seen == _UNCOUNTED:
            self._from_step, self._from_time = step, self._clock()
        measured = self._seen - _UNCOUNTED
        return measured >= _FIRST and (measured & (measured - 1) == 0 or step % every == 0)

    def per_step(self, step: int) -> float:
        """Seconds, validation and checkpoints included."""
        return (self._clock() - self._from_time) / max(1, step - self._from_step)
