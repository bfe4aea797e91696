"""The engine that runs our own models: encoded in groups of similar length, searched in places that are filled again.

On a GPU every sentence meets the same shapes whatever its company: it is encoded among as many others, padded to a
length that follows from its own, and searched in as many places. So it meets the same kernels, which round alike, and
a step can be captured once and replayed. On a CPU, where shapes cost nothing, they fit the sentences.

Shapes: N places for sentences, each with as many hypotheses as the search is wide.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from typing import Any, NamedTuple

import torch

from regard.batches.rows import rows_of
from regard.models.verbs import InPlace, Model
from regard.search import Request, Result, Search, SearchSettings, build, decode_waiting
from regard.tokens import Tokenisers
from regard.translation.engines.captured import CapturedStep
from regard.translation.engines.engine import plain_requests

_CPU_TOKENS = 4096  # source tokens, padding included, for all hypotheses together
_GPU_ROWS = 4096  # hypotheses that are searched together
_GPU_LENGTHS = tuple(32 << n for n in range(16))  # that sources are padded to
_GPU_SHARE = 1 / 8  # of the places is filled at a time

Found = Iterator[tuple[int, Result]]


class TorchEngine:
    """A model on a device, without dropout, and the ids that begin and end its sentences."""

    name = "torch"

    def __init__(
        self,
        model: Model[Any, Any],
        tokenisers: Tokenisers,
        *,
        device: torch.device,
        precision: torch.dtype | None = None,
        gpu_rows: int = _GPU_ROWS,
    ) -> None:
        self.model = model if precision is None else _in(precision, model)
        self.tokenisers, self.device, self.gpu_rows = tokenisers, device, gpu_rows
        self._benches: dict[tuple[int, int], _Bench] = {}

    @torch.no_grad()
    def search(
        self, sentences: Sequence[Sequence[int]], settings: SearchSettings, *, requests: Sequence[Request] | None = None
    ) -> list[Result]:
        """What is found for each sentence, in order."""
        asked = plain_requests(sentences) if requests is None else requests
        ended = [[*sentence, self.tokenisers.source.end] for sentence in sentences]
        begin, end = self.tokenisers.target.begin, self.tokenisers.target.end
        search = build(settings, begin=begin, end=end, device=self.device)
        results = (self._on_a_gpu if self.device.type == "cuda" else self._on_a_cpu)(ended, asked, search)
        found = dict(results)
        return [found[number] for number in range(len(sentences))]

    def _on_a_cpu(self, sentences: list[list[int]], requests: Sequence[Request], search: Search) -> Found:
        """The longest first, in as many places as there are tokens for; others take the places of finished ones."""
        order = sorted(range(len(sentences)), key=lambda n: -len(sentences[n]))
        if not order:
            return

        def start(places: Sequence[int]) -> Any:
            rows = rows_of([[sentences[order[place]]] for place in places])
            return self.model.start(self.model.encode(rows), width=search.width)

        places = max(1, _CPU_TOKENS // search.width // len(sentences[order[0]]))
        asked = [requests[number] for number in order]
        for place, result in decode_waiting(self.model.step, start, asked, search, places=places):
            yield order[place], result

    def _on_a_gpu(self, sentences: list[list[int]], requests: Sequence[Request], search: Search) -> Found:
        """All sentences of one padded length after the other."""
        places = max(1, self.gpu_rows // search.width)
        group = max(1, int(places * _GPU_SHARE))
        for length in sorted({_padded(len(sentence)) for sentence in sentences}):
            numbers = [n for n, sentence in enumerate(sentences) if _padded(len(sentence)) == length]
            bench = self._bench(length, places, search.width)

            def start(entering: Sequence[int], numbers: list[int] = numbers, length: int = length) -> Any:
                rows = [[sentences[numbers[n]]] for n in entering]
                rows += [[[self.tokenisers.source.end]]] * (group - len(rows))
                source = rows_of(rows, length=length).to(self.device)
                state = self.model.start(self.model.encode(source), width=search.width)
                return state.keep(torch.arange(len(entering), device=self.device))

            found = decode_waiting(
                bench.step,
                start,
                [requests[number] for number in numbers],
                search,
                places=places,
                free=_GPU_SHARE,
                state=bench.state,
            )
            yield from ((numbers[n], result) for n, result in found)

    def _bench(self, length: int, places: int, width: int) -> _Bench:
        """Places for sources of this length, all free; made once, and used again."""
        if (length, width) not in self._benches:
            nothing = rows_of([[[self.tokenisers.source.end]]] * places, length=length).to(self.device)
            state = self.model.start(self.model.encode(nothing), width=width)
            step = self.model.step
            if isinstance(self.model, InPlace):
                step = CapturedStep(self.model, places * width, device=self.device)
            self._benches[length, width] = _Bench(state, step)
        return self._benches[length, width]


class _Bench(NamedTuple):
    """Places for sentences, and what moves them on."""

    state: Any
    step: Callable[[Any, Any], tuple[Any, Any]]


def _padded(length: int) -> int:
    return next(padded for padded in _GPU_LENGTHS if length <= padded)


def _in(precision: torch.dtype, model: Model[Any, Any]) -> Model[Any, Any]:
    copied: Any = deepcopy(model)
    converted: Model[Any, Any] = copied.to(precision)
    return converted
