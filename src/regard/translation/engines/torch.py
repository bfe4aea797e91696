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
from threading import RLock
from typing import Any, Generic, NamedTuple

import torch

from regard.batches.rows import Rows, rows_of
from regard.errors import RegardError
from regard.models.protocols import Model
from regard.search import Request, Result, Search, SearchSettings, Session, StateBoard, build
from regard.search.length import limit
from regard.tokens import Tokenisers
from regard.translation.engines.benches import SHARE, Bench, Benches
from regard.translation.engines.engine import Decoding, EngineFile, Loaded, Made, Work, request_for
from regard.translation.engines.ensemble import Ensemble
from regard.translation.garbage import no_garbage

_CPU_TOKENS = 16384  # source tokens, padding included, for all hypotheses together
_OPEN_LENGTH = 64  # source tokens of a sentence, for which a session that stays open has places
_SIMILAR = 1.5  # a sentence is at most so many times as long as others of its group
_GPU_ROWS = 8192  # hypotheses of a model in half precision that are searched together, if memory is plenty
_PLENTY = 128 << 30  # bytes
_FEWEST = 8  # places
_GPU_SHORTEST = 32  # tokens that sources are padded to, or twice as many, or four times ...


class _Order(NamedTuple, Generic[Made]):
    """Sentences and their end, what is asked of each, and what is made of each number and result."""

    sentences: Sequence[Sequence[int]]
    end: int
    requests: Sequence[Request] | None  # None: plain ones, which are made while a GPU computes
    work: Work[Made]

    def length(self, number: int) -> int:
        """Of this sentence with its end."""
        return len(self.sentences[number]) + 1

    def is_plain(self, numbers: Sequence[int]) -> bool:
        """Whether nothing is asked of these."""
        return self.requests is None or all(self.requests[number].is_plain for number in numbers)

    def submitted(self, number: int) -> tuple[int, list[int], Request]:
        """What a session gets."""
        sentence = self.sentences[number]
        request = request_for(sentence) if self.requests is None else self.requests[number]
        return number, [*sentence, self.end], request


class SessionKind(NamedTuple):
    """What the sentences of a session have in common."""

    settings: SearchSettings
    length: int  # that sources are padded to; 0: each step fits its sentences
    plain: bool  # whether requests must have no prefix and no phrases


class TorchEngine:
    """A model on a device, without dropout, and the ids that begin and end its sentences."""

    name = "torch"

    def __init__(
        self,
        model: Decoding,
        tokenisers: Tokenisers,
        *,
        device: torch.device,
        precision: torch.dtype = torch.float32,
        gpu_rows: int | None = None,
        lock: RLock | None = None,
    ) -> None:
        self.model, self.precision = model, precision  # that of its weights
        self.tokenisers, self.device, self.gpu_rows = tokenisers, device, gpu_rows
        self.lock = lock or RLock()  # held while the model computes
        self.benches = Benches()  # by the length of sources, and settings

    @torch.no_grad()
    def search(
        self, sentences: Sequence[Sequence[int]], settings: SearchSettings, *, requests: Sequence[Request] | None = None
    ) -> list[Result]:
        """What is found for each sentence, in order."""
        return self.search_each(sentences, settings, lambda _, result: result, requests=requests)

    @torch.no_grad()
    def search_each(
        self,
        sentences: Sequence[Sequence[int]],
        settings: SearchSettings,
        work: Work[Made],
        *,
        requests: Sequence[Request] | None = None,
    ) -> list[Made]:
        """What `work` makes of each sentence's number and result, in order; it works while a GPU computes the next."""
        begin, end = self.tokenisers.target.begin, self.tokenisers.target.end
        with self.lock:
            search = build(settings, begin=begin, end=end, device=self.device)
            for request in requests or ():
                search.check(request)
            order = _Order(sentences, self.tokenisers.source.end, requests, work)
            if self.device.type == "cuda":
                with no_garbage():
                    made = dict(self._on_a_gpu(order, search))
            else:
                made = dict(self._on_a_cpu(order, search))
        return [made[number] for number in range(len(sentences))]

    def kind_of_session(self, sentence: Sequence[int], settings: SearchSettings, request: Request) -> SessionKind:
        """Which sentences can be searched in one session: all of the same kind."""
        if self.device.type != "cuda":
            return SessionKind(settings, 0, True)
        return SessionKind(settings, _padded(len(sentence) + 1), request.is_plain)

    def open_session(self, kind: SessionKind) -> Session:
        """A session that is kept open for requests that come one by one; hold `lock` at each of its steps.

        Sources are submitted with their end. Nothing else may search with this engine meanwhile.
        """
        search = build(
            kind.settings, begin=self.tokenisers.target.begin, end=self.tokenisers.target.end, device=self.device
        )
        if self.device.type != "cuda":
            board = StateBoard(self.model.step, partial(self._started, search.width), device=self.device)
            places = max(_FEWEST, _CPU_TOKENS // search.width // _OPEN_LENGTH)
            return Session(board, search, places=places, free=0)
        return self._bench(kind.length, search, plain=kind.plain).session()

    def forget_session(self, kind: SessionKind) -> None:
        """Frees what a session has left on the device, after an error in one of its steps."""
        self.benches.pop((kind.length, kind.settings), None)
        self._free_memory()

    def _on_a_cpu(self, order: _Order[Made], search: Search) -> Iterator[tuple[int, Made]]:
        """Groups of similar length, the longest first; in each, waiting sentences take the places of finished ones."""
        start = partial(self._started, search.width)
        for numbers, places in _groups([*map(order.length, range(len(order.sentences)))], _CPU_TOKENS // search.width):
            board = StateBoard(self.model.step, start, device=self.device)
            yield from _made(Session(board, search, places=places), numbers, order)

    def _started(self, width: int, sentences: Sequence[Sequence[int]]) -> Any:
        return self._start(width, rows_of([[sentence] for sentence in sentences]))

    def _start(self, width: int, rows: Rows) -> Any:
        return self.model.start(self.model.encode(rows), width=width)

    def _on_a_gpu(self, order: _Order[Made], search: Search) -> Iterator[tuple[int, Made]]:
        """All sentences of one padded length after the other."""
        by_length: dict[int, list[int]] = {}
        for number in range(len(order.sentences)):
            by_length.setdefault(_padded(order.length(number)), []).append(number)
        for length, numbers in sorted(by_length.items()):
            try:
                made = self._of_one_length(length, numbers, order, search)
            except torch.cuda.OutOfMemoryError:
                made = None
            if made is None:  # out here, since an error that is being handled keeps tensors alive
                search = self._after_freeing_memory(search)
                try:
                    made = self._of_one_length(length, numbers, order, search)
                except torch.cuda.OutOfMemoryError as error:
                    raise RegardError(
                        f"{self.device}: there is not enough memory to translate texts of {length} tokens.\n"
                        "  Close other programs that use this GPU, or use device = 'cpu'."
                    ) from error
            yield from made

    def _of_one_length(
        self, length: int, numbers: Sequence[int], order: _Order[Made], search: Search
    ) -> list[tuple[int, Made]]:
        """What is made of sentences that are padded to the same length, as they are found."""
        session = self._bench(length, search, plain=order.is_plain(numbers)).session()
        try:
            return list(_made(session, numbers, order))
        except BaseException:  # sentences are left in the places
            self.benches.pop((length, search.settings), None)
            raise

    def _after_freeing_memory(self, search: Search) -> Search:
        """Drops all benches, since memory is short. Returns a new search: the old one may hold sentences."""
        self.benches.clear()
        self._free_memory()
        return build(search.settings, begin=search.begin, end=search.end, device=self.device)

    def _free_memory(self) -> None:
        gc.collect()
        if self.device.type == "cuda":
            torch.cuda.empty_cache()

    def _entering(self, width: int, group: int, length: int, sentences: Sequence[Sequence[int]]) -> Any:
        """The state of some sentences, encoded in a group of always the same size."""
        rows = [[sentence] for sentence in sentences] + [[[self.tokenisers.source.end]]] * (group - len(sentences))
        state = self._start(width, rows_of(rows, length=length).to(self.device))
        return state.keep(torch.arange(len(sentences), device=self.device))

    def _bench(self, length: int, search: Search, *, plain: bool) -> Bench:
        """Places for sources of this length, all free."""
        key = (length, search.settings)
        if plain and (kept := self.benches.again(key)):
            return kept
        rows, width = self.gpu_rows or _rows_for(self.device, self.precision), search.width
        places = max(_FEWEST, rows // width * _GPU_SHORTEST // length)
        nothing = rows_of([[[self.tokenisers.source.end]]] * places, length=length).to(self.device)
        start, room = partial(self._start, width), limit(Request(source_length=length), search.settings) + 1
        if plain and (made := self.benches.made(key, self.model, search, start=start, nothing=nothing, room=room)):
            return made
        entering = partial(self._entering, width, max(1, int(places * SHARE)), length)
        board = StateBoard(self.model.step, entering, device=self.device, state=start(nothing), places=places)
        return Bench(places, search, None, board)


def _made(session: Session, numbers: Sequence[int], order: _Order[Made]) -> Iterator[tuple[int, Made]]:
    """What is made of the sentences with these numbers, as they are found."""
    for number, result in session.results(map(order.submitted, numbers)):
        yield number, order.work(number, result)


def _groups(lengths: Sequence[int], tokens: int) -> Iterator[tuple[list[int], int]]:
    """The numbers of the sentences, the longest first, in groups, and how many of a group have that many tokens.

    These are not batches (`by_length`): a group is larger than its places, which its sentences take one after another.
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


def _rows_for(device: torch.device, precision: torch.dtype) -> int:
    """How many hypotheses fit: fewer on a GPU with less memory, and half as many in float32."""
    memory = torch.cuda.get_device_properties(device).total_memory
    most = _GPU_ROWS * 2 // max(2, precision.itemsize)
    return next(rows for rows in (most >> n for n in range(8)) if rows <= 256 or rows * _PLENTY <= memory * _GPU_ROWS)


def _padded(length: int) -> int:
    return max(_GPU_SHORTEST, 1 << (length - 1).bit_length())


def rounded(model: Any, precision: torch.dtype) -> Any:
    """A copy of the model with all weights in this precision."""
    return deepcopy(model).to(precision)


def together(models: Sequence[Model[Any, Any]]) -> Decoding:
    """The model, or the ensemble of several."""
    return models[0] if len(models) == 1 else Ensemble(models)


def _open(loaded: Loaded) -> TorchEngine:
    """On a GPU that has bf16, with copies in bf16: scores and attention stay those of the float32 models."""
    models, precision = list(loaded.models), torch.float32
    if loaded.device.type == "cuda" and torch.cuda.is_bf16_supported(including_emulation=False):
        models, precision = [rounded(model, torch.bfloat16) for model in models], torch.bfloat16
    device = torch.device(str(loaded.device))
    return TorchEngine(together(models), loaded.tokenisers, device=device, precision=precision, lock=loaded.lock)


def on_a_cpu(loaded: Loaded) -> TorchEngine:
    """The engine for what another engine on the CPU leaves to it."""
    return TorchEngine(together(loaded.models), loaded.tokenisers, device=torch.device("cpu"), lock=loaded.lock)


ENGINE = EngineFile(open=_open, open_if_it_suits=_open)
