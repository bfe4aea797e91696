"""Several models as one: at each step the mean of their probabilities.

Shapes: N sentences, R = N * width rows, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from torch import Tensor

from regard.models.verbs import InPlace, Model, Rows
from regard.search import combine


@dataclass(frozen=True)
class States:
    """What each member remembers."""

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

    def fill(self, places: Tensor, newcomers: States) -> None:
        """The part of `put` that computes, for members that stay in place."""
        for member, newcomer in zip(self.members, newcomers.members, strict=True):
            member.fill(places, newcomer)

    def entered(self, places: Sequence[int]) -> None:
        """Notes that sentences begin in these places, for every member."""
        for member in self.members:
            member.entered(places)

    @property
    def capacity(self) -> tuple[Any, ...]:
        """The columns of each member; they differ from before when one of them has grown into other tensors."""
        return tuple(member.capacity for member in self.members)

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
        """Decoders that have said nothing yet."""
        started = (model.start(part, width=width) for model, part in zip(self.models, memory, strict=True))
        return States(tuple(started))

    def step(self, tokens: Tensor, state: States) -> tuple[Tensor, States]:
        """[R] the words said last -> [R, V] the logarithms of the mean probabilities."""
        steps = [model.step(tokens, part) for model, part in zip(self.models, state.members, strict=True)]
        return combine([logits for logits, _ in steps]), States(tuple(part for _, part in steps))


class InPlaceEnsemble(Ensemble):
    """Members that all write in place (`InPlace`), so that a step of all of them can be captured as one."""

    def reserve(self, state: States, words: int) -> None:
        """Room for sentences of so many words, for every member."""
        for model, part in self._with(state):
            model.reserve(part, words)

    def before_step(self, state: States) -> None:
        """Makes room for what the step will write, for every member."""
        for model, part in self._with(state):
            model.before_step(part)

    def next_logits(self, tokens: Tensor, state: States) -> Tensor:
        """[R] -> [R, V]: the part of a step that only computes."""
        return combine([model.next_logits(tokens, part) for model, part in self._with(state)])

    def after_step(self, state: States) -> None:
        """All are one token further, in every member."""
        for model, part in self._with(state):
            model.after_step(part)

    def _with(self, state: States) -> list[tuple[InPlace, Any]]:
        return list(zip(cast("tuple[InPlace, ...]", self.models), state.members, strict=True))


def ensemble_of(models: Sequence[Model[Any, Any]]) -> Ensemble:
    """The ensemble of these models; its steps can be captured where those of all members can."""
    return (InPlaceEnsemble if all(isinstance(model, InPlace) for model in models) else Ensemble)(models)
