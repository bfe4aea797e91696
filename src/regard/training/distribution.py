"""Many processes that train one model: started by torchrun, or one alone, by the same command.

On GPUs each process has a card of its own, chosen by its number on its machine. `reduction` sums what a step needs of
all processes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, NamedTuple

import torch
from torch import Tensor, distributed

from regard.errors import SettingsError

_PATIENCE = timedelta(days=1)  # the others wait while the first process prepares the corpus


class Processes(NamedTuple):
    """One process among those that train together."""

    rank: int = 0
    ranks: int = 1
    grouped: bool = False  # started by torchrun, even if it is the only one

    @property
    def first(self) -> bool:
        """Whether this is the process that writes files and reports."""
        return self.rank == 0

    def wait(self) -> None:
        """Waits until all processes have come this far."""
        if self.grouped:
            distributed.barrier()

    def sum(self, values: Tensor) -> Tensor:
        """The sum over all processes."""
        if not self.grouped:
            return values
        summed = values.clone()
        distributed.all_reduce(summed)
        return summed

    def share(self, value: Any) -> Any:
        """The value of the first process, in all of them."""
        if not self.grouped:
            return value
        values = [value]
        distributed.broadcast_object_list(values)
        return values[0]


@contextmanager
def processes(device: torch.device) -> Iterator[Processes]:
    """Joins the other processes that torchrun has started, if it has; `device` is that of `own_card`."""
    if not _started_by_torchrun():
        yield Processes()
        return
    if device.type == "cuda":
        distributed.init_process_group("nccl", timeout=_PATIENCE, device_id=device)
    else:
        distributed.init_process_group("gloo", timeout=_PATIENCE)
    try:
        yield Processes(distributed.get_rank(), distributed.get_world_size(), grouped=True)
    finally:
        distributed.destroy_process_group()


def own_card(device: torch.device) -> torch.device:
    """The device of this process: where torchrun has started several on GPUs, a card of its own, made the current one.

    The card is the process's number on its machine (LOCAL_RANK).
    """
    if device.type != "cuda" or not _started_by_torchrun():
        return device
    number, count = (
        int(os.environ.get(name, default)) for name, default in (("LOCAL_RANK", 0), ("LOCAL_WORLD_SIZE", 1))
    )
    card = card_for(number, processes=count, cards=torch.cuda.device_count())
    torch.cuda.set_device(card)
    return card


def card_for(number: int, *, processes: int, cards: int) -> torch.device:
    """The card of process `number` of so many on this machine."""
    if processes > cards:
        raise SettingsError(
            f"torchrun has started {processes} processes on this machine, but PyTorch sees {_so_many(cards)}.\n"
            f"  Each process needs its own GPU: start torchrun with at most {cards} processes, or make more GPUs "
            "visible (CUDA_VISIBLE_DEVICES)."
        )
    return torch.device("cuda", number)


def _so_many(cards: int) -> str:
    return "1 GPU" if cards == 1 else f"{cards} GPUs"


def _started_by_torchrun() -> bool:
    return "WORLD_SIZE" in os.environ and "RANK" in os.environ


def restartable() -> bool:
    """Whether torchrun may have started this process again after a failure: it was given a number of restarts.

    Its count of restarts does not tell: a machine that was started again counts from zero, and so do the others if they
    notice the newcomer before the failure.
    """
    return int(os.environ.get("TORCHELASTIC_MAX_RESTARTS", "0")) > 0
