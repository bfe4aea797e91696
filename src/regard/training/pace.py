"""How long a step takes, measured while training goes on. The first steps, which compile things, do not count."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import takewhile
from typing import NamedTuple

_UNCOUNTED = 3  # steps
_EVERY = 8  # steps are measured between two answers


class _Mark(NamedTuple):
    step: int
    time: float


class Pace:
    """The speed of a run since it began or went on, lately: a machine may become slower."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._seen = 0
        self._marks: list[_Mark] = []

    def is_due(self, step: int) -> bool:
        """Takes note of a step; True after every eight measured ones."""
        self._seen += 1
        measured = self._seen - _UNCOUNTED
        if measured < 0 or measured % _EVERY:
            return False
        self._marks.append(_Mark(step, self._clock()))
        return measured > 0

    def per_step(self) -> float:
        """Seconds, validation and checkpoints included, over the second half of what was measured."""
        last = self._marks[-1]
        half = (self._marks[0].step + last.step) / 2
        first = [self._marks[0], *takewhile(lambda mark: mark.step <= half, self._marks)][-1]
        return (last.time - first.time) / max(1, last.step - first.step)
