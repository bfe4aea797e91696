"""Several models as one: at each step the mean of their probabilities.

Shapes: N sentences, R = N * width rows, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from regard.models.protocols import Model, Rows
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
