"""Several models as one: at each step the mean of their probabilities.

Shapes: N sentences, R = N * width rows, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from regard.models import fast
from regard.models.protocols import Model, Rows
from regard.search import combine


@dataclass(frozen=True)
class States:
    """The state of each member."""

    members: tuple[Any, ...]

    def reorder(self, rows: Tensor) -> States:
        """Row r goes on from where row `rows[r]` was, for every member."""
        return States(tuple(member.reorder(rows) for member in self.members))

    def keep(self, sentences: Tensor) -> States:
        """Only these sentences go on, in this order, for every member."""
        return States(tuple(member.keep(sentences) for member in self.members))

    def put(self, places: Tensor, newcomers: States) -> States:
        """The sentences of another state take these places, for every member."""
        pairs = zip(self.members, newcomers.members, strict=True)
        return States(tuple(member.put(places, newcomer) for member, newcomer in pairs))

    def append(self, newcomers: States) -> States:
        """The sentences of another state take places behind the last, for every member."""
        pairs = zip(self.members, newcomers.members, strict=True)
        return States(tuple(member.append(newcomer) for member, newcomer in pairs))

    @property
    def changing(self) -> list[Tensor]:
        """What a step changes in every member, beside the caches that it writes."""
        return [tensor for member in self.members for tensor in member.changing]


class Ensemble:
    """The verbs of a search, for several models with the same vocabularies."""

    def __init__(self, models: Sequence[Model[Any, Any]]) -> None:
        assert models, "an ensemble has at least one member"
        self.models = tuple(models)

    def encode(self, source: Rows) -> tuple[Any, ...]:
        """What each member makes of the source."""
        return tuple(model.encode(source) for model in self.models)

    def start(self, memory: tuple[Any, ...], *, width: int = 1) -> States:
        """Decoders before their first step."""
        started = (model.start(part, width=width) for model, part in zip(self.models, memory, strict=True))
        return States(tuple(started))

    def step(self, tokens: Tensor, state: States) -> tuple[Tensor, States]:
        """[R] the tokens generated last -> [R, V] the logarithms of the mean probabilities."""
        steps = [model.step(tokens, part) for model, part in zip(self.models, state.members, strict=True)]
        return combine([logits for logits, _ in steps]), States(tuple(part for _, part in steps))


def in_place(state: Any, tokens: int) -> Any:
    """The same state, of a model or of all members, with room for so many tokens; None if it cannot stay in place."""
    if not isinstance(state, States):
        return fast.in_place(state, tokens)
    members = tuple(fast.in_place(member, tokens) for member in state.members)
    return None if None in members else States(members)
