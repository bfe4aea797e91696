"""The engine that runs our own models: encoded in groups of similar length, searched in places that are filled again.

On a GPU every sentence meets the same shapes whatever its company: it is encoded among as many others, padded to a
length that follows from its own, and searched in as many places. So it meets the same kernels, which round alike, and
a step can be captured once and replayed. On a CPU, where shapes cost nothing, they fit the sentences.

Shapes: N places for sentences, each with as many hypotheses as the search is wide.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from copy import deepcopy
from functools import partial
from typing import Any, NamedTuple

import torch

from regard.batches.rows import Rows, rows_of
from regard.errors import RegardError
from regard.models.packed import pack
from regard.models.verbs import InPlace, Model
from regard.search import Request, Result, Search, SearchSettings, build, decode_waiting
from regard.search.length import limit
from regard.tokens import Tokenisers
from regard.translation.engines.captured import CapturedEntering, CapturedSteps, no_garbage
from regard.translation.engines.engine import Decoding, EngineFile, Loaded, plain_requests
from regard.translation.engines.ensemble import ensemble_of

_CPU_TOKENS = 16384  # source tokens, padding included, for all hypotheses together
_SIMILAR = 1.5  # a sentence is at most so many times as long as others of its group
_GPU_ROWS = 4096  # hypotheses that are searched together, where sources are short and memory is plenty
_PLENTY = 64 << 30  # bytes
_FEWEST = 8  # places
_GPU_SHORTEST = 32  # tokens that sources are padded to, or twice as many, or four times ...
_GPU_SHARE = 1 / 8  # of the places is filled at a time
_MOST_BENCHES = 4  # kept at a time; with a base model in float32 each takes about 9 GB

Found = Iterator[tuple[int, Result]]


class TorchEngine:
    """A model on a device, without dropout, and the ids that begin and end its sentences."""

    name = "torch"

    def __init__(
        self,
        model: Decoding,
        tokenisers: Tokenisers,
        *,
        device: torch.device,
        precision: torch.dtype | None = None,
        gpu_rows: int | None = None,
    ) -> None:
        self.model = model if precision is None else _in(precision, model)
        self.tokenisers, self.device, self.gpu_rows = tokenisers, device, gpu_rows
        self.benches: dict[tuple[int, SearchSettings], _Bench] = {}

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
        """Groups of similar length, the longest first; in each, those that wait take the places of finished ones."""
        for numbers, places in _groups([len(sentence) for sentence in sentences], _CPU_TOKENS // search.width):
            found = decode_waiting(
                self.model.step,
                partial(self._started, [sentences[number] for number in numbers], search.width),
                [requests[number] for number in numbers],
                search,
                places=places,
            )
            yield from ((numbers[n], result) for n, result in found)

    def _started(self, sentences: list[list[int]], width: int, numbers: Sequence[int]) -> Any:
        return self._start(width, rows_of([[sentences[number]] for number in numbers]))

    def _start(self, width: int, rows: Rows) -> Any:
        return self.model.start(self.model.encode(rows), width=width)

    def _on_a_gpu(self, sentences: list[list[int]], requests: Sequence[Request], search: Search) -> Found:
        """All sentences of one padded length after the other."""
        by_length: dict[int, list[int]] = {}
        for number, sentence in enumerate(sentences):
            by_length.setdefault(_padded(len(sentence)), []).append(number)
        for length, numbers in sorted(by_length.items()):
            ours, asked = [sentences[number] for number in numbers], [requests[number] for number in numbers]
            try:
                found = self._of_one_length(length, ours, asked, search)
            except torch.cuda.OutOfMemoryError:
                found = None
            if found is None:  # out here, since an error that is being handled keeps tensors alive
                search = self._after_freeing_memory(search)
                try:
                    found = self._of_one_length(length, ours, asked, search)
                except torch.cuda.OutOfMemoryError as error:
                    raise RegardError(
                        f"{self.device}: its memory is too small to translate texts of {length} tokens.\n"
                        "  End other programs that use this GPU, or use device = 'cpu'."
                    ) from error
            yield from ((numbers[n], result) for n, result in found)

    def _of_one_length(
        self, length: int, sentences: list[list[int]], requests: list[Request], search: Search
    ) -> list[tuple[int, Result]]:
        """The results of sentences that are padded to the same length, as they are found."""
        bench = self._bench(length, search, requests)
        found = decode_waiting(
            self.model.step,
            partial(self._entering, sentences, bench, length),
            requests,
            bench.search,
            places=bench.places,
            free=_GPU_SHARE,
            state=bench.state,
            room=bench.room,
            enter=partial(_enter, bench.entering, sentences, length) if bench.entering else None,
            move=bench.steps.move if bench.steps else None,
        )
        try:
            with no_garbage():
                return list(found)
        except BaseException:  # sentences are left in the places
            self.benches.pop((length, search.settings), None)
            raise

    def _after_freeing_memory(self, search: Search) -> Search:
        """Drops all benches, since memory is short. Gives the same search anew: the old one may hold sentences."""
        self.benches.clear()
        gc.collect()
        if self.device.type == "cuda":
            torch.cuda.empty_cache()
        return build(search.settings, begin=search.begin, end=search.end, device=self.device)

    def _entering(self, sentences: list[list[int]], bench: _Bench, length: int, numbers: Sequence[int]) -> Any:
        """The state of the sentences with these numbers, encoded among as many as always."""
        group = max(1, int(bench.places * _GPU_SHARE))
        rows = [[sentences[number]] for number in numbers]
        rows += [[[self.tokenisers.source.end]]] * (group - len(rows))
        state = self._start(bench.width, rows_of(rows, length=length).to(self.device))
        return state.keep(torch.arange(len(numbers), device=self.device))

    def _bench(self, length: int, search: Search, requests: Sequence[Request]) -> _Bench:
        """Places for sources of this length, all free.

        Those that can be captured are kept and used again; beyond `_MOST_BENCHES`, the least recently used one goes.
        """
        plain = all(request.is_plain for request in requests)
        captured = plain and search.may_stay_in_place and isinstance(self.model, InPlace)
        key = (length, search.settings)
        if captured and key in self.benches:
            self.benches[key] = self.benches.pop(key)  # the last is the one used most recently
            return self.benches[key]
        while captured and len(self.benches) >= _MOST_BENCHES:
            del self.benches[next(iter(self.benches))]
        rows = self.gpu_rows or _rows_for(self.device)
        places = max(_FEWEST, rows // search.width * _GPU_SHORTEST // length)
        nothing = rows_of([[[self.tokenisers.source.end]]] * places, length=length).to(self.device)
        state = self._start(search.width, nothing)
        if not captured:
            return _Bench(places, search.width, state, search, None, None, None)
        assert isinstance(self.model, InPlace)
        own = build(search.settings, begin=search.begin, end=search.end, device=self.device)
        room = limit(Request(source_length=length), search.settings) + 1
        self.model.reserve(state, room)
        group = Rows(*(tensor[: max(1, int(places * _GPU_SHARE))].clone() for tensor in nothing))
        start = partial(self._start, search.width)
        entering = CapturedEntering(start, state, group)
        self.benches[key] = _Bench(places, search.width, state, own, room, entering, CapturedSteps(self.model, own))
        return self.benches[key]


class _Bench(NamedTuple):
    """Places for sentences, and what moves them on."""

    places: int
    width: int
    state: Any
    search: Search
    room: int | None
    entering: CapturedEntering | None
    steps: CapturedSteps | None


def _enter(
    entering: CapturedEntering, sentences: list[list[int]], length: int, state: Any, numbers: Sequence[int],
    places: list[int],
) -> Any:  # fmt: skip
    entering.enter(rows_of([[sentences[number]] for number in numbers], length=length), places)
    return state


def _groups(lengths: Sequence[int], tokens: int) -> Iterator[tuple[list[int], int]]:
    """The numbers of the sentences, the longest first, in groups, and how many of a group have that many tokens.

    Much shorter ones make a group of their own, with more places, but only where the places of the others are filled.
    """
    group: list[int] = []
    places = 0
    for number in sorted(range(len(lengths)), key=lambda n: -lengths[n]):
        if len(group) >= places and group and lengths[number] * _SIMILAR < lengths[group[0]]:
            yield group, places
            group = []
        if not group:
            places = max(1, tokens // lengths[number])
        group.append(number)
    if group:
        yield group, places


def _rows_for(device: torch.device) -> int:
    """How many hypotheses fit: fewer on a GPU with less memory."""
    memory = torch.cuda.get_device_properties(device).total_memory
    return next(
        rows for rows in (_GPU_ROWS >> n for n in range(8)) if rows <= 256 or rows * _PLENTY <= memory * _GPU_ROWS
    )


def _padded(length: int) -> int:
    return max(_GPU_SHORTEST, 1 << (length - 1).bit_length())


def _in(precision: torch.dtype, model: Any) -> Any:
    return deepcopy(model).to(precision)


def together(models: Sequence[Model[Any, Any]]) -> Decoding:
    """The model, or the ensemble of several."""
    return models[0] if len(models) == 1 else ensemble_of(models)


def _open(loaded: Loaded) -> TorchEngine:
    models = [member.model for member in loaded.members]
    for member in models:
        pack(member)
    return TorchEngine(together(models), loaded.tokenisers, device=loaded.device)


ENGINE = EngineFile(suits=lambda _: 1, open=_open)
