"""A search session: requests enter at any time, results come out as they are found.

A session moves all sentences one token on at each step. Between two steps, waiting requests take the places of finished
ones, and a request can be cancelled. The model's side of a session is a `Board`: the states of the sentences, each in
its place. A session knows no model.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Generic, NamedTuple, Protocol, Self, TypeVar

import torch
from torch import Tensor

from regard.search.request import Request, Result
from regard.search.search import Search

_NOBODY = object()  # instead of the key of a result that nobody waits for
FREE = 1 / 8  # this share of the places is free before newcomers enter, or the others close ranks
_FEWEST = 1 / 8  # results of a group that are made in a step, even if the device waits


class SearchState(Protocol):
    """What a step function keeps of N sentences with W hypotheses each."""

    def reorder(self, rows: Tensor) -> Self:
        """Row r goes on from where row `rows[r]` was: [N * W], each from the same sentence."""

    def keep(self, sentences: Tensor) -> Self:
        """Only these of the N sentences go on, in this order."""

    def put(self, places: Tensor, newcomers: Self) -> Self:
        """The sentences of another state, which have not made a step yet, take these of the N places."""

    def append(self, newcomers: Self) -> Self:
        """The sentences of another state, which have not made a step yet, take places behind the last."""


StateT = TypeVar("StateT", bound=SearchState)
Step = Callable[[Tensor, StateT], tuple[Tensor, StateT]]
"""[N * W] the tokens generated last, and the state -> [N * W, V] logits of the next, and the new state."""


class Board(Protocol):
    """The model's side of a session: the states of the sentences in its places."""

    def enter(self, sources: Sequence[Any], places: Sequence[int]) -> None:
        """New sentences take these places, which are free or behind the last."""

    def keep(self, places: Sequence[int]) -> None:
        """Only these places remain, in this order."""

    def move(self, search: Search) -> None:
        """One step of all sentences: logits, the search's choice, and the new order of the rows."""


class StateBoard(Generic[StateT]):
    """A board of as many places as there are sentences, or of those of a given state.

    `start` makes the state of new sentences from their sources.
    """

    def __init__(
        self,
        step: Step[StateT],
        start: Callable[[Sequence[Any]], StateT],
        *,
        device: torch.device,
        state: StateT | None = None,
        places: int = 0,
    ) -> None:
        self._step, self._start, self._device = step, start, device
        self._state, self._places = state, places

    def enter(self, sources: Sequence[Any], places: Sequence[int]) -> None:
        """New sentences take these places, which are free or behind the last."""
        newcomers = self._start(sources)
        if self._state is None:
            self._state = newcomers
        elif places[0] >= self._places:
            self._state = self._state.append(newcomers)
        else:
            self._state = self._state.put(torch.tensor(places, device=self._device), newcomers)
        self._places = max(self._places, places[-1] + 1)

    def keep(self, places: Sequence[int]) -> None:
        """Only these places remain, in this order."""
        assert self._state is not None
        self._state = self._state.keep(torch.tensor(places, device=self._device)) if places else None
        self._places = len(places)

    @torch.no_grad()
    def move(self, search: Search) -> None:
        """One step of all sentences."""
        assert self._state is not None
        logits, state = self._step(search.tokens, self._state)
        rows = search.move(logits)
        self._state = state if rows is None else state.reorder(rows)


class _Waiting(NamedTuple):
    """A request that has no place yet."""

    key: Hashable
    source: Any
    request: Request


class _Left(NamedTuple):
    """Sentences that have left the search together: their keys, and their results, which are made when asked for."""

    keys: deque[Hashable]
    results: Iterator[Result]

    def forget(self, key: Hashable) -> None:
        """Nobody waits for the result of this one."""
        for number, other in enumerate(self.keys):
            if other == key:
                self.keys[number] = _NOBODY


class Session:
    """Sentences on a board, at most `places` at a time, each known by a key of the caller's choice.

    Newcomers enter when more than a share `free` of the places is free: fewer, larger groups are faster, and `free=0`
    lets everyone in at the next step. A `fixed` board keeps all of its places to the end, and newcomers enter it in
    groups of that share; with `room` for so many tokens, the search stays in place, too (`Search.reserve`). Results are
    made while the device computes the next steps, as many as there is time for, and so are the next requests.
    """

    def __init__(
        self,
        board: Board,
        search: Search,
        *,
        places: int,
        free: float = FREE,
        fixed: bool = False,
        room: int | None = None,
    ) -> None:
        assert not search.busy, "the search is busy with other sentences"
        self._board, self._search, self._most, self._free = board, search, places, free
        self._fixed, self._room = fixed, room
        search.reserve(places if fixed else 0, room=room)
        self._keys: list[Hashable] = [None] * len(search.sentences)  # of the sentence in each place
        self._waiting: deque[_Waiting] = deque()
        self._left: deque[_Left] = deque()
        self._coming: Iterator[tuple[Hashable, Any, Request]] = iter(())  # requests that are still to be made
        self._group = max(1, int(places * free)) if fixed else places
        self._fewest = max(1, int(self._group * _FEWEST)) if fixed else places
        self._ahead = max(1, self._group // 2)  # requests that are made in a step

    def submit(self, key: Hashable, source: Any, request: Request) -> None:
        """A request that enters as soon as there is a place for it. `source` is what the board starts from."""
        if not request.is_plain:
            self._search.check(request)
        self._waiting.append(_Waiting(key, source, request))

    def cancel(self, key: Hashable) -> None:
        """Drops a request, waiting or running; its place is free at once. No result of it is given any more."""
        self._waiting = deque(item for item in self._waiting if item.key != key)
        self._search.release([place for place in self._search.busy if self._keys[place] == key])
        for left in self._left:
            left.forget(key)

    def running(self) -> list[tuple[int, Any]]:
        """The place and the key of every request that is being searched."""
        return [(place, self._keys[place]) for place in self._search.busy]

    @property
    def vacancies(self) -> int:
        """How many more requests would enter at the next step; fewer than none where some wait for a place."""
        return self._most - len(self._search.busy) - len(self._waiting)

    @property
    def is_idle(self) -> bool:
        """Whether every request has its result, or was cancelled."""
        return not (self._waiting or self._left or self._search.is_busy)

    def step(self, *, moves: int = 1) -> list[tuple[Hashable, Result]]:
        """Lets newcomers in, moves all sentences one token on, and gives results that were found in earlier steps.

        Where the search stays in place, several `moves` make a step: a sentence that is finished by the first of them
        leaves after the last, with the same result. The host has less to do, and is waited for less often.
        """
        return list(self._stepped(moves))

    @property
    def may_leap(self) -> bool:
        """Whether a step may make several moves."""
        return self._room is not None

    def results(self, coming: Iterable[tuple[Hashable, Any, Request]] = ()) -> Iterator[tuple[Any, Result]]:
        """The key and the result of every request, as they are found, until the session is idle.

        So are those of `coming` requests, with their keys and sources, which are made while the device computes, or
        when places are free. What the caller does with a result is done while the device computes, too.
        """
        self._coming = iter(coming)
        self._draw(1)
        while not self.is_idle:
            yield from self._stepped()
        if self._room is None:
            self._search.reserve(0)

    def _stepped(self, moves: int = 1) -> Iterator[tuple[Hashable, Result]]:
        """A step. Its results are given while the device computes it."""
        assert moves == 1 or self.may_leap
        self._admit()
        search = self._search
        if not search.is_busy:
            yield from self._made(lambda _: True)
            return
        for _ in range(moves):
            self._board.move(search)
        search.send_news()
        self._draw(min(self._most, len(self._waiting) + self._ahead))
        yield from self._made(lambda count: count < self._fewest or (search.is_moving and count < self._most))
        gone = search.dismiss(moves=moves)
        if gone.sentences:
            self._left.append(_Left(deque(self._keys[place] for place in gone.sentences), gone.results()))

    def _draw(self, count: int) -> bool:
        """Whether a request waits, once so many do, or as many as there are."""
        for key, source, request in islice(self._coming, max(0, count - len(self._waiting))):
            self.submit(key, source, request)
        return bool(self._waiting)

    def _admit(self) -> None:
        """New sentences take free places, or places behind the last; if none waits, the others close ranks."""
        if self._fixed and not self._waiting:
            return
        search = self._search
        empty = search.free
        if len(empty) > self._free * len(self._keys) or (self._waiting and not search.is_busy):
            while self._draw(1) and empty:
                empty = self._enter(empty)
            if empty and not self._fixed and search.is_busy:
                self._close_ranks()
        while not self._fixed and self._draw(1) and len(self._keys) < self._most and not search.free:
            self._enter(list(range(len(self._keys), self._most)))

    def _enter(self, empty: list[int]) -> list[int]:
        """The next that wait take the first of these places; gives the places that remain."""
        self._draw(min(len(empty), self._group))
        count = min(len(empty), self._group, len(self._waiting))
        entering, places = [self._waiting.popleft() for _ in range(count)], empty[:count]
        behind = places[0] >= len(self._keys)
        self._search.admit([item.request for item in entering], places=None if behind else places)
        self._board.enter([item.source for item in entering], places)
        self._keys += [None] * (places[-1] + 1 - len(self._keys))
        for place, item in zip(places, entering, strict=True):
            self._keys[place] = item.key
        return empty[count:]

    def _close_ranks(self) -> None:
        busy = closed_ranks(self._search.busy)
        self._search.keep(busy)
        self._board.keep(busy)
        self._keys = [self._keys[place] for place in busy]

    def _made(self, more: Callable[[int], bool]) -> Iterator[tuple[Hashable, Result]]:
        """Results of those that have left, which are only made here, as long as more are wanted than so many."""
        count = 0
        while self._left and more(count):
            keys, results = self._left[0]
            if (result := next(results, None)) is None:
                self._left.popleft()
            elif (key := keys.popleft()) is not _NOBODY:
                yield key, result
            count += 1


def decode(step: Step[StateT], state: StateT, requests: Sequence[Request], search: Search) -> list[Result]:
    """The result of each request; `state` is of as many sentences, with `search.width` hypotheses each."""
    if not requests:
        return []
    session = Session(StateBoard(step, lambda _: state, device=search.device), search, places=len(requests), free=0)
    for number, request in enumerate(requests):
        session.submit(number, None, request)
    found = dict(session.results())
    return [found[number] for number in range(len(requests))]


def closed_ranks(busy: list[int]) -> list[int]:
    """These places in an order in which most stay what they are: the last ones take the free places before them."""
    stay, late = set(busy), [place for place in busy if place >= len(busy)]
    return [place if place in stay else late.pop() for place in range(len(busy))]
