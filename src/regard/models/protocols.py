"""What a model can do, in three small protocols. Each user asks for the one that it needs.

Learns      states(batch), logits(states)           training, validation and scoring
Decodes     encode(source), start(memory), step     search
Attends     attentions()                            insight, word alignment

An encoder-only model does not decode, an LSTM without attention does not attend. An architecture is one file in this
folder: it ends with `ARCHITECTURE`, which declares what the other rooms need to know about it.

Shapes: B rows of a batch, T target positions, S source positions, V target vocabulary, H heads, K width of a head;
N sentences that are being decoded, each by `width` hypotheses: N * width rows, those of one sentence side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, NamedTuple, Protocol, Self, TypeAlias, TypeVar

import torch
from torch import Tensor, nn

from regard.settings import Settings

MemoryT = TypeVar("MemoryT")
StateT = TypeVar("StateT", bound="State")


class Rows(Protocol):
    """One stream of a batch; `regard.batches.rows` makes them."""

    @property
    def tokens(self) -> Tensor:
        """[B, T] ids of the vocabulary, or [B, T, F] vectors."""

    @property
    def segments(self) -> Tensor:
        """[B, T] the number of the sentence in its row, from 1; 0 is padding."""

    @property
    def positions(self) -> Tensor:
        """[B, T] the position of the token in its sentence, from 0."""


class Batch(Protocol):
    """Examples in rows. A task (`regard.tasks`) names the streams: a translation has a `source` and a `target`.

    The decoder reads its stream offset by one position: the start, then each token but the last.
    """

    @property
    def streams(self) -> Mapping[str, Rows]:
        """The rows of each stream."""


class Sight(Protocol):
    """Which keys each query of an attention may look at, and where both stand in their sentences."""

    @property
    def query_positions(self) -> Tensor:
        """[B, T]."""

    @property
    def key_positions(self) -> Tensor:
        """[B, S]."""

    def allowed(self) -> Tensor:
        """[B, 1, T or 1, S] True where looking is allowed."""


class State(Protocol):
    """What a decoder keeps between two steps. A state is used up once it was passed on."""

    def reorder(self, rows: Tensor) -> State:
        """Row r goes on from where row `rows[r]` was: [N * width], each from the same sentence."""

    def keep(self, sentences: Tensor) -> State:
        """Only these of the N sentences go on, in this order."""

    def put(self, places: Tensor, newcomers: Any) -> State:
        """The sentences of another state, which have not made a step yet, take these of the N places."""

    def append(self, newcomers: Any) -> State:
        """The sentences of another state, which have not made a step yet, take places behind the last."""


class Module(Protocol):
    """What Regard uses of a torch.nn.Module."""

    def parameters(self) -> Iterator[nn.Parameter]:
        """Every weight once."""

    def named_parameters(self) -> Iterator[tuple[str, nn.Parameter]]:
        """Every weight once, with its first name."""

    def named_buffers(self) -> Iterator[tuple[str, Tensor]]:
        """Every buffer once, with its first name."""

    def state_dict(self) -> dict[str, Tensor]:
        """Every tensor that is stored, under all of its names."""

    def train(self, mode: bool = True) -> Self:
        """With dropout."""

    def eval(self) -> Self:
        """Without dropout."""

    def to(self, device: torch.device | str) -> Self:
        """On another device."""


class Learns(Module, Protocol):
    """A model that predicts labels from a batch."""

    def states(self, batch: Any) -> Tensor:
        """[B, T, D] the last hidden states."""

    def logits(self, states: Tensor) -> Tensor:
        """[..., D] -> [..., V]: for all positions, or those that carry a label."""

    def __call__(self, batch: Any) -> Tensor:
        """[B, T, V] `logits(states(batch))`."""


class Decodes(Protocol[MemoryT, StateT]):
    """A model that generates a target, token by token."""

    def encode(self, source: Rows) -> MemoryT:
        """Reads the source, once."""

    def start(self, memory: MemoryT, *, width: int = 1) -> StateT:
        """A decoder with `width` hypotheses for each sentence (each row of the source holds one)."""

    def step(self, tokens: Tensor, state: StateT) -> tuple[Tensor, StateT]:
        """[N * width] the tokens generated last -> [N * width, V] logits of the next."""


class Attends(Protocol):
    """A model whose attention can be observed."""

    def attentions(self) -> Mapping[AttentionName, Observable]:
        """Every attention of the model by its name; empty where the settings leave attention out."""


class Model(Learns, Decodes[MemoryT, StateT], Attends, Protocol[MemoryT, StateT]):
    """A sequence-to-sequence model: all three."""


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
"""Gets the weights of an attention, and returns the weights to use: the same, or changed ones."""


class Observable(Protocol):
    """An attention that can be observed (`regard.models.parts.observation`)."""

    heads: int
    observer: Observer | None


def any_length(_: Any) -> None:
    """Sentences of any length."""


def no_single_matrix(_: Any) -> None:
    """The logits are more than one matrix product."""


PAIR: Mapping[str, str] = {"source": "source_vocabulary", "target": "target_vocabulary"}


class Architecture(NamedTuple):
    """What an architecture's file declares: its settings, how to build a model, and what other rooms need to know."""

    settings: type[Settings]
    build: Callable[[Any], Any]
    shares_rows: bool = True  # whether a row can hold several sentences; otherwise each gets a row of its own
    rounds: bool = False  # whether it trains as well with all weights and states rounded to bf16
    captured: bool = True  # whether a step does the same for all batches of a shape, so that a GPU can replay it
    longest: Callable[[Any], int | None] = any_length  # tokens of the longest sentence, by the settings
    output_weight: Callable[[Any], Tensor | None] = no_single_matrix  # [V, D] if logits(x) is exactly x @ weight.T
    vocabularies: Mapping[str, str] = PAIR  # the setting that holds the size of each stream's vocabulary
    separated: Callable[[Mapping[str, Any]], dict[str, Any]] = dict  # a [model] table for separate vocabularies
    width: Callable[[Any], int] = lambda settings: settings.d_model  # what section 5.3's learning rate depends on
