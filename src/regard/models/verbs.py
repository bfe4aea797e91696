"""What every model is: four verbs, and attention that can be observed.

forward(batch) -> logits            all target words at once, for training and scoring
encode(source) -> memory            the source, read once
start(memory) -> state              a decoder that has said nothing yet
step(tokens, state) -> logits       one more word, for every row

Training, search, evaluation and serving know these and no architecture. An architecture is one file in this folder.

Shapes: B rows of a batch, T target positions, S source positions, V target vocabulary, H heads, K width of a head;
N sentences that are being decoded, each by `width` hypotheses: N * width rows, those of one sentence side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, NamedTuple, Protocol, Self, TypeAlias, TypeVar, runtime_checkable

import torch
from torch import Tensor, nn

from regard.settings import Settings

MemoryT = TypeVar("MemoryT")
StateT = TypeVar("StateT", bound="State")


class Rows(Protocol):
    """One side of a batch; `regard.batches.rows` makes them."""

    @property
    def tokens(self) -> Tensor:
        """[B, T] the vocabulary's numbers."""

    @property
    def segments(self) -> Tensor:
        """[B, T] the number of the sentence in its row, from 1; 0 is padding."""

    @property
    def positions(self) -> Tensor:
        """[B, T] the place of the token in its sentence, from 0."""


class Batch(Protocol):
    """Sentence pairs in rows: the source, and the target as the decoder reads it, offset by one position."""

    @property
    def source(self) -> Rows:
        """What is read."""

    @property
    def target(self) -> Rows:
        """What the decoder is given: the start, then each word but the last."""


class State(Protocol):
    """What a decoder remembers between two steps. It is spent once it was handed on."""

    def reorder(self, rows: Tensor) -> State:
        """Row r goes on from where row `rows[r]` was: [N * width], each from the same sentence."""

    def keep(self, sentences: Tensor) -> State:
        """Only these of the N sentences go on, in this order."""

    def put(self, places: Tensor, newcomers: Any) -> State:
        """The sentences of another state, which have said nothing yet, take these of the N places."""


class Model(Protocol[MemoryT, StateT]):
    """The four verbs, the places where the model attends, and what is used of a torch.nn.Module."""

    def forward(self, batch: Batch) -> Tensor:
        """[B, T, V] a logit for each word of the vocabulary, at each target position: `logits(states(batch))`."""

    def states(self, batch: Batch) -> Tensor:
        """[B, T, D] what the logits are made of."""

    def logits(self, states: Tensor) -> Tensor:
        """[..., D] -> [..., V]: for all positions, or those that matter."""

    def output_weight(self) -> Tensor | None:
        """[V, D] what `logits` multiplies by, where that is all that it does; else None."""

    def encode(self, source: Rows) -> MemoryT:
        """The source, read once."""

    def start(self, memory: MemoryT, *, width: int = 1) -> StateT:
        """A decoder with `width` hypotheses for each sentence (each row of the source holds one)."""

    def step(self, tokens: Tensor, state: StateT) -> tuple[Tensor, StateT]:
        """[N * width] the words said last -> [N * width, V] logits for the next."""

    def attentions(self) -> Mapping[AttentionName, Observable]:
        """Every attention of the model by its name; empty where there is none."""

    def __call__(self, batch: Batch) -> Tensor:
        """The same as `forward`."""

    def parameters(self) -> Iterator[nn.Parameter]:
        """Every weight once."""

    def named_parameters(self) -> Iterator[tuple[str, nn.Parameter]]:
        """Every weight once, with its first name."""

    def train(self, mode: bool = True) -> Self:
        """With dropout."""

    def eval(self) -> Self:
        """Without dropout."""

    def to(self, device: torch.device | str) -> Self:
        """On another device."""


@runtime_checkable
class InPlace(Protocol):
    """A model whose step writes into the same tensors again and again, so that it can be captured once and replayed.

    `step` is these three; what decides about sizes and what the host must know is in the first and the last.
    """

    def reserve(self, state: Any, words: int) -> None:
        """Room for sentences of so many words, made once, before the first step."""

    def before_step(self, state: Any) -> None:
        """Makes room for what the step will write."""

    def next_logits(self, tokens: Tensor, state: Any) -> Tensor:
        """[N * width] -> [N * width, V]: computes alone."""

    def after_step(self, state: Any) -> None:
        """All are one word further."""


class AttentionName(NamedTuple):
    """Which attention: `decoder-source.0` is the first decoder layer's attention over the source."""

    kind: Literal["encoder", "decoder", "decoder-source"]
    layer: int

    def __str__(self) -> str:
        return f"{self.kind}.{self.layer}"


class Lookup(NamedTuple):
    """One use of attention as a soft dictionary: each query's weights over all keys, and the keys' values."""

    query: Tensor  # [B, H, T, K]
    key: Tensor  # [B, H, S, K]
    value: Tensor  # [B, H, S, width of a value]
    weights: Tensor  # [B, H, T, S], each row sums to 1


Observer: TypeAlias = Callable[[Lookup], Tensor]
"""Sees the weights of an attention, and returns those that are to be used: the same, or changed ones."""


class Observable(Protocol):
    """An attention that somebody can watch (`regard.insight.capture`)."""

    heads: int
    observer: Observer | None


def any_length(_: Any) -> None:
    """There is no longest sentence."""


class Architecture(NamedTuple):
    """What an architecture's file gives to the room: the class of its settings, and what builds its model from them."""

    settings: type[Settings]
    build: Callable[[Any], Model[Any, Any]]
    shares_rows: bool = True  # whether a row can hold several sentences; else each gets a row of its own
    rounds: bool = False  # whether it trains as well with all of its weights and states rounded to bf16
    captured: bool = True  # whether a step does the same for all batches of a shape, so that a GPU can repeat it
    longest: Callable[[Any], int | None] = any_length  # tokens of the longest sentence by its settings
