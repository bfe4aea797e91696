"""The simplest driver: a batch of sentences, from its start to its end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, Self, TypeVar

from torch import Tensor

from regard.search.request import Request, Result
from regard.search.search import Search


class State(Protocol):
    """What a step function remembers of N sentences with W hypotheses each."""

    def reorder(self, rows: Tensor) -> Self:
        """Row r goes on from where row `rows[r]` was: [N * W], each from the same sentence."""

    def keep(self, sentences: Tensor) -> Self:
        """Only these of the N sentences go on, in this order."""


StateT = TypeVar("StateT", bound=State)
Step = Callable[[Tensor, StateT], tuple[Tensor, StateT]]
"""[N * W] the words said last, and the state -> [N * W, V] logits for the next, and the new state."""


def decode(step: Step[StateT], state: StateT, requests: Sequence[Request], search: Search) -> list[Result]:
    """The result of each request; `state` is of as many sentences, with `search.width` hypotheses each."""
    assert not search.sentences, "the search is busy with other sentences"
    results: dict[int, Result] = {}
    tokens, waiting = search.admit(requests), list(range(len(requests)))
    while waiting:
        logits, state = step(tokens, state)
        decision = search.advance(logits)
        if decision.finished:
            results |= {waiting[place]: result for place, result in decision.finished.items()}
            waiting = [request for place, request in enumerate(waiting) if place not in decision.finished]
            state = state.keep(decision.going) if waiting else state
        if decision.rows is not None and waiting:
            state = state.reorder(decision.rows)
        tokens = decision.tokens
    return [results[request] for request in range(len(requests))]
