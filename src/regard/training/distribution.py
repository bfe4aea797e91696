"""Many processes that train one model: started by torchrun, or one alone, by the same command."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch import Tensor, distributed, nn
from torch.nn.parallel import DistributedDataParallel


class Processes(NamedTuple):
    """One process among those that train together."""

    rank: int = 0
    ranks: int = 1
    local_rank: int = 0  # among those on the same machine

    @property
    def first(self) -> bool:
        """Whether this is the one that writes and speaks."""
        return self.rank == 0

    def wait(self) -> None:
        """Until all have come this far."""
        if self.ranks > 1:
            distributed.barrier()

    def sum(self, values: Tensor) -> Tensor:
        """The sum over all processes."""
        if self.ranks > 1:
            values = values.clone()
            distributed.all_reduce(values)
        return values

    def any(self, flag: bool, device: torch.device) -> bool:
        """Whether the flag is up in any process."""
        if self.ranks == 1:
            return flag
        return bool(self.sum(torch.tensor(float(flag), device=device)).item())

    def share(self, value: Any) -> Any:
        """What the first process says, in all of them."""
        if self.ranks == 1:
            return value
        values = [value]
        distributed.broadcast_object_list(values)
        return values[0]

    def together(self, module: nn.Module, device: torch.device) -> nn.Module:
        """The module whose gradients are the mean over all processes."""
        if self.ranks == 1:
            return module
        return DistributedDataParallel(module, device_ids=[device.index] if device.type == "cuda" else None)


@contextmanager
def processes(device: torch.device) -> Iterator[Processes]:
    """Joins the other processes that torchrun has started, if it has."""
    if "WORLD_SIZE" not in os.environ or "RANK" not in os.environ:
        yield Processes()
        return
    distributed.init_process_group("nccl" if device.type == "cuda" else "gloo")
    try:
        local = int(os.environ.get("LOCAL_RANK", "0"))
        yield Processes(distributed.get_rank(), distributed.get_world_size(), local)
    finally:
        distributed.destroy_process_group()


def restarted() -> bool:
    """Whether torchrun has started this process again after a failure."""
    return int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")) > 0
