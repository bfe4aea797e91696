"""How a language model goes on: a search session whose texts begin with what was given.

The beginning of a text is read once. Every continuation of it is a hypothesis of the search, and results come as soon
as they are found; a text whose continuation contains a stop text ends there. On a GPU, steps can be captured as those
of translating are: then beginnings are padded to few lengths, and waiting texts take the places of finished ones.

Shapes: N texts, W continuations of each.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import groupby
from typing import Any, NamedTuple

import torch

from regard.batches.rows import Rows, rows_of
from regard.batches.similar_lengths import by_length
from regard.errors import LengthError
from regard.search import Request, Search, SearchSettings, Session, StateBoard, build
from regard.search.length import limit
from regard.tokens.lines import Lines
from regard.translation.engines.benches import Bench, Benches

_TOKENS = 16_384  # of beginnings that are searched together, padding included
_PLACES = 64  # texts that are searched together at most
_SHORTEST = 32  # tokens that beginnings are padded to where steps are captured, or twice as many, or four times ...

Ids = tuple[int, ...]


class Continuation(NamedTuple):
    """What a model has said after a beginning."""

    text: str
    ids: Ids
    logprobs: tuple[float, ...]  # of each token and, where it ended by itself, of its end
    ended: str  # "end": by itself; "stop": at a stop text; "length": it reached the limit


class Generation:
    """A model that decodes, and the tokeniser of its texts; steps are captured where there are `benches` for them."""

    def __init__(
        self,
        model: Any,
        lines: Lines,
        *,
        device: torch.device,
        longest: int | None = None,
        benches: Benches | None = None,
    ) -> None:
        self.model, self.lines, self.device, self.longest, self.benches = model, lines, device, longest, benches

    @torch.no_grad()
    def all(
        self, beginnings: Sequence[Sequence[int]], settings: SearchSettings, *, stop: Sequence[str] = ()
    ) -> list[list[Continuation]]:
        """The continuations of each beginning: as many as the search finds."""
        begun = self._begun(beginnings)
        alike: dict[SearchSettings, list[int]] = {}
        for number, ids in enumerate(begun):
            alike.setdefault(self._with_room(settings, len(ids)), []).append(number)
        found: dict[int, list[Continuation]] = {}
        for limited, numbers in alike.items():
            for some in self._groups(numbers, [len(begun[number]) for number in numbers]):
                found.update(self._together({number: begun[number] for number in some}, limited, stop))
        return [found[number] for number in range(len(beginnings))]

    def _with_room(self, settings: SearchSettings, length: int) -> SearchSettings:
        """The settings for a beginning of this length: a model with learned positions has room for so many tokens."""
        room = None if self.longest is None else max(1, self.longest - length)
        if room is None or (settings.max_length is not None and settings.max_length <= room):
            return settings
        return settings.model_copy(update={"max_length": room, "min_length": 0})

    def _groups(self, numbers: Sequence[int], lengths: Sequence[int]) -> Iterator[list[int]]:
        """Texts that are searched in one session: of one padded length where steps are captured."""
        if self.benches is not None:
            order = sorted(zip(lengths, numbers, strict=True))
            for _, some in groupby(order, lambda item: self._padded(item[0])):
                yield [number for _, number in some]
            return
        for places in by_length(lengths, tokens=_TOKENS):
            for first in range(0, len(places), _PLACES):
                yield [numbers[place] for place in places[first : first + _PLACES]]

    @torch.no_grad()
    def stream(self, beginning: Sequence[int], settings: SearchSettings, *, stop: Sequence[str] = ()) -> Iterator[str]:
        """One continuation in pieces of text, as they come; together they are its text."""
        (begun,) = self._begun([beginning])
        search, session = self._session({0: begun}, settings)
        said = ""
        try:
            while not session.is_idle:
                results = session.step()
                ids = _ids(results[0][1].hypotheses[0].ids if results else _Live.of(search).ids(0, 0))
                text, stopped = _cut(self._said(begun, ids), stop)
                whole = text if results or stopped else _settled(text, stop)
                if len(whole) > len(said) and whole.startswith(said):
                    yield whole[len(said) :]
                    said = whole
                if stopped:
                    return
        finally:
            session.cancel(0)  # the listener may have left

    def _begun(self, beginnings: Sequence[Sequence[int]]) -> list[list[int]]:
        """With the token that begins all texts; too long ones are refused."""
        begun = [[self.lines.tokeniser.begin, *ids] for ids in beginnings]
        for number, ids in enumerate(begun, start=1):
            if self.longest is not None and len(ids) >= self.longest:
                raise LengthError(
                    f"beginning {number} has {len(ids) - 1:,} tokens, but this model reads at most {self.longest:,}, "
                    "with those that it generates.\n  Give a shorter beginning: the last part of yours."
                )
        return begun

    def _session(self, begun: dict[int, list[int]], settings: SearchSettings) -> tuple[Search, Session]:
        tokeniser = self.lines.tokeniser
        search = build(settings, begin=tokeniser.begin, end=tokeniser.end, device=self.device)
        if bench := self._bench(begun, search):
            search, session = bench.search, bench.session()
        else:
            board = StateBoard(self.model.step, partial(self._started, search.width), device=self.device)
            session = Session(board, search, places=len(begun), free=0)
        for number, ids in begun.items():
            session.submit(number, ids, Request(source_length=len(ids), number=number))
        return search, session

    def _bench(self, begun: dict[int, list[int]], search: Search) -> Bench | None:
        """Places for beginnings of this length whose steps are captured; None where they are not."""
        if self.benches is None:
            return None
        length = self._padded(max(map(len, begun.values())))
        places = min(max(1, _PLACES // search.width), 1 << (len(begun) - 1).bit_length())
        key = (length, places, search.settings)
        if kept := self.benches.again(key):
            return None if kept.search.is_busy else kept  # with a stream that is still listened to
        nothing = rows_of([[[self.lines.tokeniser.begin]]] * places, length=length).to(self.device)
        start, room = partial(self._start, search.width), limit(Request(source_length=length), search.settings) + 1
        try:
            return self.benches.made(key, self.model, search, start=start, nothing=nothing, room=room)
        except torch.cuda.OutOfMemoryError:  # without captured steps, memory grows with the texts
            self.benches.clear()
            torch.cuda.empty_cache()
            return None

    def _padded(self, length: int) -> int:
        padded = max(_SHORTEST, 1 << (length - 1).bit_length())
        return padded if self.longest is None else min(padded, self.longest)

    def _started(self, width: int, beginnings: Sequence[Sequence[int]]) -> Any:
        return self._start(width, rows_of([[beginning] for beginning in beginnings]).to(self.device))

    def _start(self, width: int, rows: Rows) -> Any:
        return self.model.start(self.model.encode(rows), width=width)

    def _together(
        self, begun: dict[int, list[int]], settings: SearchSettings, stop: Sequence[str]
    ) -> dict[int, list[Continuation]]:
        search, session = self._session(begun, settings)
        found: dict[int, list[Continuation]] = {}
        stopped: dict[tuple[int, int], Continuation] = {}
        try:
            while not session.is_idle:
                for key, result in session.step():
                    assert isinstance(key, int)
                    found[key] = [
                        stopped.get((key, number))
                        or self._made(begun[key], each.ids, each.logprobs, stop, limited=each.length_limited)
                        for number, each in enumerate(result.hypotheses)
                    ]
                if stop:
                    self._stop(search, session, begun, stop, stopped, found)
        except BaseException:  # texts are left in the places
            if self.benches is not None:
                self.benches.clear()
            raise
        return found

    def _stop(
        self,
        search: Search,
        session: Session,
        begun: dict[int, list[int]],
        stop: Sequence[str],
        stopped: dict[tuple[int, int], Continuation],
        found: dict[int, list[Continuation]],
    ) -> None:
        """Notes continuations that have come to a stop text; a text all of whose continuations have is cancelled."""
        live = _Live.of(search)
        for place, key in session.running():
            for number in range(search.width):
                if (key, number) not in stopped:
                    ids, logprobs = live.ids(place, number), live.logprobs(place, number)
                    text, at_stop = _cut(self._said(begun[key], ids), stop)
                    if at_stop:
                        stopped[key, number] = Continuation(text, ids, logprobs, "stop")
            if all((key, number) in stopped for number in range(search.width)):
                found[key] = [stopped[key, number] for number in range(search.width)]
                session.cancel(key)

    def _said(self, begun: Sequence[int], ids: Sequence[int]) -> str:
        """The text of a continuation, with the space that parts it from its beginning, where there is one."""
        before, whole = self.lines.decode(begun[1:]), self.lines.decode([*begun[1:], *ids])
        return whole[len(before) :] if whole.startswith(before) else self.lines.decode(ids)

    def _made(
        self, begun: Sequence[int], ids: Ids, logprobs: tuple[float, ...], stop: Sequence[str], *, limited: bool
    ) -> Continuation:
        text, at_stop = _cut(self._said(begun, ids), stop)
        ended = "stop" if at_stop else "length" if limited else "end"
        return Continuation(text, tuple(ids), logprobs[: len(ids)] if ended != "end" else logprobs, ended)


class _Live(NamedTuple):
    """What the hypotheses of a search have said so far, on the host: [N, W] lengths, [N, W, T] tokens."""

    length: torch.Tensor
    tokens: torch.Tensor
    likelihoods: torch.Tensor

    @classmethod
    def of(cls, search: Search) -> _Live:
        return cls(search.live.length.cpu(), search.live.tokens.cpu(), search.live.logprobs.cpu())

    def ids(self, place: int, number: int) -> Ids:
        """The tokens of a hypothesis."""
        return _ids(self.tokens[place, number, : int(self.length[place, number])].tolist())

    def logprobs(self, place: int, number: int) -> tuple[float, ...]:
        """Of each of them."""
        return tuple(self.likelihoods[place, number, : int(self.length[place, number])].tolist())


def _ids(ids: Sequence[int]) -> Ids:
    return tuple(int(token) for token in ids)


def _cut(text: str, stop: Sequence[str]) -> tuple[str, bool]:
    """The text before the first stop text, and whether there is one."""
    places = [place for place in (text.find(each) for each in stop) if place >= 0]
    return (text[: min(places)], True) if places else (text, False)


def _settled(text: str, stop: Sequence[str]) -> str:
    """What will not change as the text grows: no half character, and no beginning of a stop text."""
    text = text.rstrip("\N{REPLACEMENT CHARACTER}")
    for each in stop:
        for length in range(min(len(each) - 1, len(text)), 0, -1):
            if text.endswith(each[:length]):
                text = text[:-length]
                break
    return text
