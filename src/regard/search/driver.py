"""The driver: any number of sentences through a step function; those that wait take the places of finished ones."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Protocol, Self, TypeVar

import torch
from torch import Tensor

from regard.search.request import Request, Result
from regard.search.search import Search

_FREE = 1 / 8  # so much of the places is free before newcomers are let in, or the others close ranks


class State(Protocol):
    """What a step function remembers of N sentences with W hypotheses each."""

    def reorder(self, rows: Tensor) -> Self:
        """Row r goes on from where row `rows[r]` was: [N * W], each from the same sentence."""

    def keep(self, sentences: Tensor) -> Self:
        """Only these of the N sentences go on, in this order."""

    def put(self, places: Tensor, newcomers: Self) -> Self:
        """The sentences of another state, which have said nothing yet, take these of the N places."""


StateT = TypeVar("StateT", bound=State)
Step = Callable[[Tensor, StateT], tuple[Tensor, StateT]]
"""[N * W] the words said last, and the state -> [N * W, V] logits for the next, and the new state."""


def decode(step: Step[StateT], state: StateT, requests: Sequence[Request], search: Search) -> list[Result]:
    """The result of each request; `state` is of as many sentences, with `search.width` hypotheses each."""
    found = dict(decode_waiting(step, lambda _: state, requests, search, places=len(requests), free=0))
    return [found[number] for number in range(len(requests))]


def decode_waiting(
    step: Step[StateT],
    start: Callable[[Sequence[int]], StateT],
    requests: Sequence[Request],
    search: Search,
    *,
    places: int,
    free: float = _FREE,
    state: StateT | None = None,
    room: int | None = None,
    enter: Callable[[StateT, list[int], list[int]], StateT] | None = None,
    move: Callable[[StateT], StateT] | None = None,
) -> Iterator[tuple[int, Result]]:
    """The number of each request and its result, as they are found.

    `start` makes the state of the requests with these numbers, with `search.width` hypotheses each. At most `places`
    are searched at a time, in their order. When more than a share `free` of the places is, those that wait take them;
    when nobody waits, the others close ranks. A `state` of as many places that is given keeps its size to the end, and
    sentences enter it in groups of that share; with `room` for so many words, so does the search. Then `enter` may
    do in one, for the requests with some numbers and their places, what is otherwise done by `start` and the state's
    `put`; and `move` what is done by `step`, `search.move` and the state's `reorder`. Results are made while the device
    computes the next steps, as many in each as sentences enter at a time.
    """
    assert not search.busy, "the search is busy with other sentences"
    waiting = deque(range(len(requests)))
    fixed = state is not None
    inside = [-1] * places if fixed else _next(waiting, places)  # the request in each place
    if state is not None:
        search.reserve(places, room=room)
    elif inside:
        state = start(inside)
        search.admit([requests[number] for number in inside])
    group = max(1, int(places * free)) if fixed else places
    left: deque[Iterator[tuple[int, Result]]] = deque()
    while state is not None and (waiting or search.busy):
        empty = search.free
        if len(empty) > free * len(inside):
            while waiting and empty:
                numbers = _next(waiting, min(len(empty), group))
                taken, empty = empty[: len(numbers)], empty[len(numbers) :]
                search.admit([requests[number] for number in numbers], places=taken)
                if enter:
                    state = enter(state, numbers, taken)
                else:
                    state = state.put(torch.tensor(taken, device=search.device), start(numbers))
                for place, number in zip(taken, numbers, strict=True):
                    inside[place] = number
            if empty and not fixed:
                busy = _closed_ranks(search.busy)
                search.keep(busy)
                state, inside = state.keep(torch.tensor(busy, device=search.device)), [inside[place] for place in busy]
        state = move(state) if move else _moved(step, state, search)
        yield from _made(left, group)
        gone = search.dismiss()
        left.append(zip([inside[place] for place in gone.sentences], gone.results(), strict=True))
    yield from _made(left, len(requests))
    if room is None:
        search.reserve(0)


@torch.no_grad()
def _moved(step: Step[StateT], state: StateT, search: Search) -> StateT:
    logits, state = step(search.tokens, state)
    rows = search.move(logits)
    return state if rows is None else state.reorder(rows)


def _closed_ranks(busy: list[int]) -> list[int]:
    """These places in an order in which most stay what they are: the last ones take those that are free before them."""
    stay, late = set(busy), [place for place in busy if place >= len(busy)]
    return [place if place in stay else late.pop() for place in range(len(busy))]


def _made(left: deque[Iterator[tuple[int, Result]]], count: int) -> Iterator[tuple[int, Result]]:
    """At most so many of the results of those that have left, which are only made here, with their numbers."""
    while left and count:
        some = list(islice(left[0], count))
        count -= len(some)
        if count:
            left.popleft()
        yield from some


def _next(waiting: deque[int], count: int) -> list[int]:
    return [waiting.popleft() for _ in range(min(count, len(waiting)))]
