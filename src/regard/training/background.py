"""Checkpoints are written by another thread, one at a time, while training goes on."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from safetensors import SafetensorError

from regard.errors import TrainingError
from regard.training.events import Journal, Saved

_FAILURES = 3  # so many checkpoints in a row that cannot be written end the run


class Writer:
    """Writes one thing at a time. A failure costs nothing but this one, unless it happens again and again."""

    def __init__(self, folder: Path, journal: Journal) -> None:
        self.folder, self.journal = folder, journal
        self.saved_step = 0  # of the last checkpoint
        self._thread = ThreadPoolExecutor(max_workers=1)
        self._writing: _Writing | None = None
        self._failures = 0

    def write(self, step: int, write: Callable[[], Saved | None]) -> None:
        """Writes in the other thread."""
        self.settle()
        self._writing = _Writing(step, self._thread.submit(write))

    def settle(self, *, wait: bool = True) -> None:
        """Takes note of what became of the last thing that was to be written."""
        if self._writing is None or not (wait or self._writing.future.done()):
            return
        (step, future), self._writing = self._writing, None
        try:
            saved = future.result()
        except (OSError, SafetensorError) as error:
            self._failures += 1
            why = getattr(error, "strerror", None) or str(error)
            if self._failures >= _FAILURES:
                raise TrainingError(
                    f"{self.folder}: {_FAILURES} checkpoints in a row could not be written: {why}.\n"
                    "  The last good checkpoint is intact. Free some disk space, then continue with --resume."
                ) from None
            self.journal.say(
                f"Step {step}: the checkpoint could not be written: {why}.\n"
                "  The last good checkpoint is intact, and training continues. Free some disk space."
            )
            return
        self._failures = 0
        if saved:
            self.saved_step = saved.step
            self.journal.tell(saved)


class _Writing(NamedTuple):
    """What another thread writes of this step."""

    step: int
    future: Future[Saved | None]
