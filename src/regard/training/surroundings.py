"""Where a run takes place, and whom it tells."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from threading import Event as Flag
from typing import NamedTuple, TypeVar

import torch

from regard.training.distribution import Processes
from regard.training.events import Journal

ResultT = TypeVar("ResultT")


class Surroundings(NamedTuple):
    """Everything around a run that is not in its recipe."""

    out: Path
    device: torch.device
    processes: Processes
    journal: Journal
    stop: Flag
    command: str

    @property
    def work(self) -> Path:
        """What is needed while training."""
        return self.out / "training"

    def first_then_all(self, make: Callable[[], ResultT]) -> ResultT:
        """What `make` makes or finds: the first process makes it, the others find it."""
        if self.processes.first:
            made = make()
            self.processes.wait()
            return made
        self.processes.wait()
        return make()
