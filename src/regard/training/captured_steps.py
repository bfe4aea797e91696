"""Whole training steps captured as CUDA graphs, one for each shape of a batch.

A step is some thousand kernels; captured, they are started as one, and the processor is out of the way. What changes
from step to step is copied into tensors that stay in place: the batch, the rate, the share of a label in the mean. The
seed of dropout is read again at each replay.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from regard.batches.rows import Batch
from regard.training.loss import Losses

_WARM_UP = 2


class Outcome(NamedTuple):
    """What a step gives, in tensors that the next step overwrites."""

    losses: Losses
    norm: Tensor


Gradients = Callable[[Batch, Tensor], Losses]
"""Leaves the gradients of a batch on the weights; the tensor is the share of one label in the mean."""


class NotCapturedError(Exception):
    """A step cannot be captured here; nothing of it was done."""


class Captures:
    """The graphs of one training."""

    def __init__(self, *, gradients: Gradients, update: Callable[[], Tensor], forget: Callable[[], None]) -> None:
        self.gradients, self.update, self.forget = gradients, update, forget
        self.graphs: dict[tuple[torch.Size, ...], _Captured] = {}

    def step(self, batch: Batch, share: float, *, device: torch.device) -> Outcome:
        """One step on this batch."""
        shape = tuple(tensor.shape for tensor in batch.tensors())
        if shape not in self.graphs:
            try:
                self.graphs[shape] = self._capture(batch.to(device))
            except torch.cuda.OutOfMemoryError:
                raise  # the same in more parts may fit
            except RuntimeError as error:
                raise NotCapturedError(f"{type(error).__name__}: {error}".split("\n")[0]) from error
        captured = self.graphs[shape]
        for place, new in zip(captured.batch.tensors(), batch.tensors(), strict=True):
            place.copy_(new, non_blocking=True)
        captured.share.fill_(share)
        captured.graph.replay()
        return captured.outcome

    def _capture(self, batch: Batch) -> _Captured:
        batch = batch._replace(tokens=0)  # a number that changes would be compiled again
        share = torch.ones((), device=batch.labels.device)
        stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(_WARM_UP):
                self.gradients(batch, share)
                self.forget()
        torch.cuda.current_stream().wait_stream(stream)
        torch.cuda.empty_cache()
        graph = torch.cuda.CUDAGraph()
        pool = next(iter(self.graphs.values())).graph.pool() if self.graphs else None
        with torch.cuda.graph(graph, pool=pool):
            losses = self.gradients(batch, share)
            norm = self.update()
        self.forget()
        return _Captured(graph, batch, share, Outcome(losses, norm))


class _Captured(NamedTuple):
    graph: torch.cuda.CUDAGraph
    batch: Batch
    share: Tensor
    outcome: Outcome
