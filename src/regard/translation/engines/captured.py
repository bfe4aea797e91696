"""Steps captured as CUDA graphs: the model's, the search's and the new order of the rows are started as one.

So is what lets sentences in: their encoding, and their keys and values in their places.
"""

from __future__ import annotations

import gc
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from regard.batches.rows import Rows
from regard.search import Search
from regard.translation.engines.engine import Decoding

_WARM_UP = 2
_KERNELS = [SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]  # these treat what is hidden as if it were not there


def captured(work: Callable[[], None]) -> Callable[[], None]:
    """The same work, as one graph; it is done a few times before, since kernels are chosen and compiled then.

    Where it cannot be captured, it is the work itself, kernel by kernel.
    """
    stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(_WARM_UP):
            work()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    try:
        with torch.cuda.graph(graph):
            work()
    except RuntimeError as error:
        warnings.warn(f"A step could not be captured, so translating is slower than it could be: {error}", stacklevel=2)
        return work
    replay: Callable[[], None] = graph.replay
    return replay


@contextmanager
def no_garbage() -> Iterator[None]:
    """Python does not look for garbage meanwhile.

    Most of what is made for sentences lives on, so there is hardly any; and a GPU would wait until all that was ever
    made is looked through, which takes longer than many steps.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


class CapturedSteps:
    """The steps of one model and one search over one state, all of which stay in place."""

    def __init__(self, model: Decoding, search: Search) -> None:
        self.model, self.search = model, search
        self.replay: Callable[[], None] | None = None

    def move(self, state: Any) -> Any:
        """One step of all sentences."""
        if self.replay is None:
            self.replay = self._captured(state)
        self.replay()
        return state

    def _captured(self, state: Any) -> Callable[[], None]:
        search = self.search
        tensors = [*state.changing, *search.live, *search.finished, search.tokens, search.over]
        before = [tensor.clone() for tensor in tensors]
        replay = captured(lambda: self._step(state))
        for tensor, value in zip(tensors, before, strict=True):
            tensor.copy_(value)
        return replay

    def _step(self, state: Any) -> None:
        with sdpa_kernel(_KERNELS):
            logits, _ = self.model.step(self.search.tokens, state)
            rows = self.search.move(logits)
        if rows is not None:
            state.reorder(rows)


class CapturedEntering:
    """Sentences that enter the places of one state, as many at a time as always."""

    def __init__(self, start: Callable[[Rows], Any], state: Any, nothing: Rows) -> None:
        """`start` makes the state of rows of this shape, here of sources without words; all places are still free."""
        self.state, self.rows = state, nothing
        self.places = torch.zeros(len(nothing.tokens), dtype=torch.long, device=nothing.tokens.device)
        self.replay = captured(lambda: state.put(self.places, start(self.rows)))

    def enter(self, rows: Rows, places: list[int]) -> None:
        """Where there are fewer than always, the first comes again, to its own place."""
        fewer = len(self.places) - len(places)
        for there, new in zip((*self.rows, self.places), (*rows, torch.tensor(places)), strict=True):
            again = new[:1].expand(fewer, *new.shape[1:])
            _send(torch.cat([new, again]), there)
        self.replay()


def _send(tensor: Tensor, there: Tensor) -> None:
    """Copies it there; the host does not wait for a GPU, which may be busy with others that enter."""
    if there.is_cuda:
        there.copy_(tensor.pin_memory(), non_blocking=True)
    else:
        there.copy_(tensor)
