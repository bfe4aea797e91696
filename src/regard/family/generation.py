"""How a language model goes on: a search session whose texts begin with what was given.

The beginning of a text is read once. Every continuation of it is a hypothesis of the search, and results come as soon
as they are found; a text whose continuation contains a stop text ends there.

Shapes: N texts, W continuations of each.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import torch

from regard.batches.rows import rows_of
from regard.batches.similar_lengths import by_length
from regard.errors import LengthError
from regard.search import Request, Search, SearchSettings, Session, StateBoard, build
from regard.tokens.lines import Lines

_TOKENS = 16_384  # of beginnings that are searched together, padding included
_PLACES = 64  # texts that are searched together at most

Ids = tuple[int, ...]


class Continuation(NamedTuple):
    """What a model has said after a beginning."""

    text: str
    ids: Ids
    logprobs: tuple[float, ...]  # of each token and, where it ended by itself, of its end
    ended: str  # "end": by itself; "stop": at a stop text; "length": it reached the limit


class Generation:
    """A model that decodes, and the tokeniser of its texts."""

    def __init__(self, model: Any, lines: Lines, *, device: torch.device, longest: int | None = None) -> None:
        self.model, self.lines, self.device, self.longest = model, lines, device, longest

    @torch.no_grad()
    def all(
        self, beginnings: Sequence[Sequence[int]], settings: SearchSettings, *, stop: Sequence[str] = ()
    ) -> list[list[Continuation]]:
        """The continuations of each beginning: as many as the search finds."""
        begun = self._begun(beginnings)
        found: dict[int, list[Continuation]] = {}
        for numbers in by_length([len(ids) for ids in begun], tokens=_TOKENS):
            for first in range(0, len(numbers), _PLACES):
                some = numbers[first : first + _PLACES]
                found.update(self._together({number: begun[number] for number in some}, settings, stop))
        return [found[number] for number in range(len(beginnings))]

    @torch.no_grad()
    def stream(self, beginning: Sequence[int], settings: SearchSettings, *, stop: Sequence[str] = ()) -> Iterator[str]:
        """One continuation in pieces of text, as they come; together they are its text."""
        (begun,) = self._begun([beginning])
        search, session = self._session({0: begun}, settings)
        said = ""
        while not session.is_idle:
            results = session.step()
            ids = _ids(results[0][1].hypotheses[0].ids if results else _live(search, 0, 0))
            text, stopped = _cut(self._said(begun, ids), stop)
            whole = text if results or stopped else _settled(text, stop)
            if len(whole) > len(said) and whole.startswith(said):
                yield whole[len(said) :]
                said = whole
            if stopped:
                return

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

        def start(sources: Sequence[Sequence[int]]) -> Any:
            rows = rows_of([[source] for source in sources]).to(self.device)
            return self.model.start(self.model.encode(rows), width=search.width)

        board = StateBoard(self.model.step, start, device=self.device)
        session = Session(board, search, places=len(begun), free=0)
        for number, ids in begun.items():
            session.submit(number, ids, Request(source_length=len(ids), number=number))
        return search, session

    def _together(
        self, begun: dict[int, list[int]], settings: SearchSettings, stop: Sequence[str]
    ) -> dict[int, list[Continuation]]:
        room = None if self.longest is None else self.longest - max(map(len, begun.values()))
        if room is not None and (settings.max_length or room) >= room:
            settings = settings.model_copy(update={"max_length": max(1, room), "min_length": 0})
        search, session = self._session(begun, settings)
        found: dict[int, list[Continuation]] = {}
        stopped: dict[tuple[int, int], Continuation] = {}
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
        for place, key in session.running():
            for number in range(search.width):
                if (key, number) not in stopped:
                    ids, logprobs = _live(search, place, number), _live_logprobs(search, place, number)
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


def _live(search: Search, place: int, number: int) -> Ids:
    """The tokens that a hypothesis has generated so far."""
    length = int(search.live.length[place, number])
    return _ids(search.live.tokens[place, number, :length].tolist())


def _live_logprobs(search: Search, place: int, number: int) -> tuple[float, ...]:
    length = int(search.live.length[place, number])
    return tuple(search.live.logprobs[place, number, :length].tolist())


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
