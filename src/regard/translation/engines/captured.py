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
from regard.models.verbs import InPlace
from regard.search import Search

_WARM_UP = 2
_KERNELS = [SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]  # these treat what is hidden as if it were not there


def captured(work: Callable[[], None]) -> Callable[[], None]:
    """The same work as one graph. It runs a few times first, since kernels are chosen and compiled then.

    Work that cannot be captured is returned as it is and runs kernel by kernel.
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
    except torch.cuda.OutOfMemoryError:  # a RuntimeError, too; the caller frees memory and tries again
        raise
    except RuntimeError as error:
        warnings.warn(f"A step could not be captured, so translating is slower than it could be: {error}", stacklevel=2)
        return work
    replay: Callable[[], None] = graph.replay
    return replay


@contextmanager
def no_garbage() -> Iterator[None]:
    """Python does not look for cyclic garbage meanwhile.

    Most objects that are made for sentences stay, so there is hardly any garbage. Looking for it would take a quarter
    of the host's time, and a GPU would wait for longer than many steps.
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

    def __init__(self, model: InPlace, search: Search) -> None:
        self.model, self.search = model, search
        self.replay: Callable[[], None] | None = None
        self.capacity: Any = None

    def move(self, state: Any) -> Any:
        """One step of all sentences."""
        self.model.before_step(state)
        if self.capacity != state.capacity:  # the state is new, or has grown into other tensors
            self._capture(state)
        assert self.replay
        self.replay()
        self.model.after_step(state)
        return state

    def _capture(self, state: Any) -> None:
        search = self.search
        tensors = [*state.changing, *search.live, *search.finished, search.tokens, search.over]
        before = [tensor.clone() for tensor in tensors]
        self.replay = captured(lambda: self._step(state))
        for tensor, value in zip(tensors, before, strict=True):
            tensor.copy_(value)
        self.capacity = state.capacity

    def _step(self, state: Any) -> None:
        with sdpa_kernel(_KERNELS):
            rows = self.search.move(self.model.next_logits(self.search.tokens, state))
        if rows is not None:
            state.reorder(rows)


class CapturedEntering:
    """Sentences that enter the places of one state, as many at a time as always."""

    def __init__(self, start: Callable[[Rows], Any], state: Any, nothing: Rows) -> None:
        """`start` makes the state of rows of this shape, here of sources without words; all places are still free."""
        self.state, self.rows = state, nothing
        self.places = torch.zeros(len(nothing.tokens), dtype=torch.long, device=nothing.tokens.device)
        self.replay = captured(lambda: state.fill(self.places, start(self.rows)))

    def enter(self, rows: Rows, places: list[int]) -> None:
        """Where there are fewer than always, the first comes again, to its own place."""
        fewer = len(self.places) - len(places)
        for there, new in zip((*self.rows, self.places), (*rows, torch.tensor(places)), strict=True):
            again = new[:1].expand(fewer, *new.shape[1:])
            _send(torch.cat([new, again]), there)
        self.replay()
        self.state.entered(places)


def _send(tensor: Tensor, there: Tensor) -> None:
    """Copies it there; the host does not wait for a GPU, which may be busy with others that enter."""
    if there.is_cuda:
        there.copy_(tensor.pin_memory(), non_blocking=True)
    else:
        there.copy_(tensor)
