"""A board whose steps are captured as CUDA graphs: the model's step, the search's choice and the new order are one.

So is the entering of new sentences: their encoding, and their keys and values in their places.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from regard.batches.rows import Rows, rows_of_ids
from regard.search import Search
from regard.translation.engines.engine import Decoding

_WARM_UP = 1
_KERNELS = [SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]  # these treat hidden keys as if they did not exist


def captured(work: Callable[[], None]) -> Callable[[], None]:
    """The same work as one graph. It runs once before, since kernels are chosen and compiled then.

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
        with torch.cuda.graph(graph, capture_error_mode="thread_local"):  # others may use the GPU meanwhile
            work()
    except torch.cuda.OutOfMemoryError:  # a RuntimeError, too; the caller frees memory and tries again
        raise
    except RuntimeError as error:
        warnings.warn(f"Capturing a CUDA graph failed, so translation is slower: {error}", stacklevel=2)
        return work
    replay: Callable[[], None] = graph.replay
    return replay


class CapturedBoard:
    """The sentences of a state that stays in place, moved by one search and entered by groups of one size.

    `start` makes the state of rows; `nothing` are rows of a whole group, without a sentence.
    """

    def __init__(
        self, model: Decoding, search: Search, state: Any, *, start: Callable[[Rows], Any], nothing: Rows
    ) -> None:
        self._model, self._search, self._state = model, search, state
        self._filled = torch.stack(nothing)  # of new sentences
        self._rows = Rows(*self._filled)
        self._places = torch.zeros(len(nothing.tokens), dtype=torch.long, device=nothing.tokens.device)
        self._enter = captured(lambda: state.put(self._places, start(self._rows)))
        self._step: Callable[[], None] | None = None

    def enter(self, sources: Sequence[Sequence[int]], places: Sequence[int]) -> None:
        """Sentences take these places. A group that is not full has its first sentence again, in the same place."""
        fewer = len(self._places) - len(places)
        group = [*sources, *[sources[0]] * fewer]
        _send(torch.from_numpy(rows_of_ids(group, length=self._filled.size(2))), self._filled)
        _send(torch.tensor([*places, *[places[0]] * fewer]), self._places)
        self._enter()

    def keep(self, places: Sequence[int]) -> None:
        """Places never move."""
        raise NotImplementedError

    def move(self, search: Search) -> None:
        """One step of all sentences."""
        assert search is self._search
        if self._step is None:
            self._step = self._captured_step()
        self._step()

    def _captured_step(self) -> Callable[[], None]:
        """Captures a step; what the steps before it changed is restored."""
        search = self._search
        tensors = [*self._state.changing, *search.live, *search.finished, search.tokens, search.over]
        before = [tensor.clone() for tensor in tensors]
        step = captured(self._move)
        for tensor, value in zip(tensors, before, strict=True):
            tensor.copy_(value)
        return step

    def _move(self) -> None:
        with sdpa_kernel(_KERNELS):
            logits, _ = self._model.step(self._search.tokens, self._state)
            rows = self._search.move(logits)
        if rows is not None:
            self._state.reorder(rows)


def _send(tensor: Tensor, there: Tensor) -> None:
    """Copies it there. The host does not wait for a GPU, which may be busy with others that enter."""
    if there.is_cuda:
        there.copy_(tensor.pin_memory(), non_blocking=True)
    else:
        there.copy_(tensor)
