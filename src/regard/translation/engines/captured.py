"""A model's step captured as a CUDA graph: a step of some hundred small kernels is started as one."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from regard.models.verbs import InPlace

_WARM_UP = 2


class CapturedStep:
    """The step of one model over one state, [N * width] -> [N * width, V]. The logits are overwritten by the next."""

    def __init__(self, model: InPlace, rows: int, *, device: torch.device) -> None:
        self.model = model
        self.tokens = torch.zeros(rows, dtype=torch.long, device=device)
        self.graph: torch.cuda.CUDAGraph | None = None
        self.logits = torch.empty(0)
        self.capacity = 0

    def __call__(self, tokens: Tensor, state: Any) -> tuple[Tensor, Any]:
        """The same as the model's own step."""
        self.model.before_step(state)
        self.tokens.copy_(tokens)
        if self.capacity != state.capacity:  # the state has grown into other tensors
            self._capture(state)
        assert self.graph is not None
        self.graph.replay()
        self.model.after_step(state)
        return self.logits, state

    def _capture(self, state: Any) -> None:
        ages, seen = state.ages.clone(), state.seen.clone()
        stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(_WARM_UP):
                self.model.next_logits(self.tokens, state)
        torch.cuda.current_stream().wait_stream(stream)
        self.graph = torch.cuda.CUDAGraph()
        state.ages.copy_(ages)
        with torch.cuda.graph(self.graph):
            self.logits = self.model.next_logits(self.tokens, state)
        state.ages.copy_(ages)
        state.seen.copy_(seen)
        self.capacity = state.capacity
