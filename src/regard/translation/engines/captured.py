"""Steps captured as CUDA graphs: the model's, the search's and the new order of the rows are started as one."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from regard.models.verbs import InPlace
from regard.search import Search

_WARM_UP = 2
_KERNELS = [SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]  # these treat what is hidden as if it were not there


class CapturedSteps:
    """The steps of one model and one search over one state, all of which stay in place."""

    def __init__(self, model: InPlace, search: Search) -> None:
        self.model, self.search = model, search
        self.graph: torch.cuda.CUDAGraph | None = None
        self.capacity = 0

    def move(self, state: Any) -> Any:
        """One step of all sentences."""
        self.model.before_step(state)
        if self.capacity != state.capacity:  # the state is new, or has grown into other tensors
            self._capture(state)
        assert self.graph is not None
        self.graph.replay()
        self.model.after_step(state)
        return state

    def _capture(self, state: Any) -> None:
        tensors = _changing(state, self.search)
        before = [tensor.clone() for tensor in tensors]
        stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream), sdpa_kernel(_KERNELS):
            for _ in range(_WARM_UP):
                self._step(state)
        torch.cuda.current_stream().wait_stream(stream)
        _restore(tensors, before)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph), sdpa_kernel(_KERNELS):
            self._step(state)
        _restore(tensors, before)
        self.capacity = state.capacity

    def _step(self, state: Any) -> None:
        rows = self.search.move(self.model.next_logits(self.search.tokens, state))
        if rows is not None:
            state.reorder(rows)


def _changing(state: Any, search: Search) -> list[Tensor]:
    """What a step changes beside the columns of the cache that it writes again."""
    return [state.ages, state.seen, *search.live, *search.finished, search.tokens, search.over]


def _restore(tensors: list[Tensor], before: list[Tensor]) -> None:
    for tensor, value in zip(tensors, before, strict=True):
        tensor.copy_(value)
