"""Recurrent encoder-decoders: RNN, GRU and LSTM, without attention and with it.

Without (Sutskever et al., 2014), all that the decoder knows of the sentence is the state in which the encoder ended.
With it (Bahdanau et al., 2015; Luong et al., 2015), each state of the decoder is compared with all states of the
encoder; a softmax over the similarities weighs these; their weighted sum, beside the decoder's state, predicts the
word, and is fed back into the next step.

Every row holds one sentence: a recurrence runs through its row from end to end.

Shapes: B rows, S source and T target positions, D = d_model, L layers, P = 2 parts of an LSTM's state (1 of the
others); N sentences that are being decoded, R = N * width rows. A mask is True where looking is allowed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple, Self, cast

import torch
from pydantic import PositiveInt, model_validator
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from regard.models.parts.embeddings import WordModel, Words, WordSettings, output_weight, something_to_see
from regard.models.parts.linear import projection
from regard.models.parts.named_state import Kept, started
from regard.models.parts.vocabularies import with_separate_vocabularies
from regard.models.protocols import Architecture, AttentionName, Batch, Lookup, Observer, Rows

Hidden = tuple[Tensor, ...]
"""A layer's state, P tensors of [B, D]."""


class RecurrentSettings(WordSettings):
    """The kind of recurrence, its depth, and how the decoder looks at the source."""

    cell: Literal["rnn", "gru", "lstm"] = "lstm"
    encoder_layers: PositiveInt = 2  # each reads the sentence in both directions
    decoder_layers: PositiveInt = 2
    attention: Literal["none", "dot", "general", "additive", "cosine"] = "general"
    feeding: bool = True  # what attention found goes into the next step

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.d_model % 2:
            raise ValueError(
                f"d_model = {self.d_model} is odd; the encoder's two directions share it, so it must be even."
            )
        if self.feeding and self.attention == "none":
            raise ValueError(
                "feeding = true feeds back the result of attention, but attention = 'none'; set it to false."
            )
        return self


class Memory(NamedTuple):
    """What the encoder made of the source."""

    states: Tensor  # [B, S, D] of the last layer, both directions
    last: tuple[Hidden, ...]  # how each layer ended, both directions
    real: Tensor  # [B, S]


class Source(NamedTuple):
    """What the decoder's attention looks at."""

    keys: Tensor  # [N, S, D]
    values: Tensor  # [N, S, D]
    allowed: Tensor  # [N, 1, S]


class Recurrent(WordModel):
    """An encoder that reads in both directions, and a decoder that goes on from where it ended."""

    def __init__(self, settings: RecurrentSettings) -> None:
        super().__init__()
        self.settings = settings
        self.words = Words(settings)
        self.dropout = nn.Dropout(settings.dropout)
        self.encoder = Encoder(settings)
        self.decoder = Decoder(settings)

    def states(self, batch: Batch) -> Tensor:
        """[B, T, D] what the words are predicted from."""
        memory = self.encode(batch.streams["source"])
        x = self.dropout(self.words.said(batch.streams["target"].tokens, batch.streams["target"].positions))
        return self.decoder(x, self.decoder.first(memory.last), self.decoder.look_at(memory))

    def encode(self, source: Rows) -> Memory:
        """The source, read in both directions."""
        return self.encoder(self.dropout(self.words.read(source)), source.segments != 0)

    @torch.no_grad()
    def start(self, memory: Memory, *, width: int = 1) -> Kept:
        """A decoder in the state in which the encoder ended."""
        hidden = torch.stack([torch.stack(parts, dim=1) for parts in self.decoder.first(memory.last)], dim=1)
        rows = {"hidden": hidden, "fed": torch.zeros_like(hidden[:, 0, 0])}  # [R, L, P, D] and [R, D]
        source = self.decoder.look_at(memory)
        return started(source._asdict() if source else {}, rows, width=width)

    @torch.no_grad()
    def step(self, tokens: Tensor, state: Kept) -> tuple[Tensor, Kept]:
        """[R] the words said last -> [R, V] logits for the next."""
        x = self.dropout(self.words.said(tokens, state.positions))[:, None]
        hidden = [layer.unbind(1) for layer in state.rows["hidden"].unbind(1)]
        source = Source(**state.shared) if state.shared else None
        states, fed, later = self.decoder.advance(x, state.rows["fed"], hidden, source, width=state.width)
        stacked = torch.stack([torch.stack(parts, dim=1) for parts in later], dim=1)
        return self.logits(states)[:, 0], state.after({"hidden": stacked, "fed": fed})

    def attentions(self) -> dict[AttentionName, Attention]:
        """The decoder's attention over the source, if it has one; with feeding it is used once for each word."""
        attention = self.decoder.attention
        return {AttentionName("decoder-source", 0): attention} if attention else {}


class Layer(nn.Module):
    """One recurrent layer of torch.nn's, over whole sentences.

    It computes in the precision of its weights: under autocast, cuDNN's recurrence would always take fp16.
    """

    def __init__(self, cell: str, inputs: int, width: int, *, both_directions: bool = False) -> None:
        super().__init__()
        kind = {"rnn": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}[cell]
        self.cell = kind(inputs, width, batch_first=True, bidirectional=both_directions)

    def forward(self, x: Tensor, hidden: Hidden) -> tuple[Tensor, Hidden]:
        """[B, T, inputs] -> [B, T, D], from one state to another."""
        dtype = self._dtype()
        given = tuple(part.to(dtype)[None].contiguous() for part in hidden)
        with torch.autocast(x.device.type, enabled=False):
            states, last = self.cell(x.to(dtype), given if len(given) > 1 else given[0])
        return states, tuple(part[0] for part in (last if len(given) > 1 else (last,)))

    def read(self, sentences: PackedSequence) -> tuple[PackedSequence, Hidden]:
        """The same from a zero state, in both directions: how each ended, [B, D], stands side by side."""
        with torch.autocast(sentences.data.device.type, enabled=False):
            states, last = self.cell(_with(sentences, sentences.data.to(self._dtype())))
        parts = last if isinstance(last, tuple) else (last,)
        return states, tuple(torch.cat(part.unbind(0), dim=-1) for part in parts)

    def _dtype(self) -> torch.dtype:
        return next(self.cell.parameters()).dtype


class Encoder(nn.Module):
    """A stack of layers, each of which reads the sentence in both directions, half of the width each."""

    def __init__(self, settings: RecurrentSettings) -> None:
        super().__init__()
        width = settings.d_model
        layers = (Layer(settings.cell, width, width // 2, both_directions=True) for _ in range(settings.encoder_layers))
        self.layers = cast("Sequence[Layer]", nn.ModuleList(layers))
        self.dropout = nn.Dropout(settings.dropout)

    def forward(self, x: Tensor, real: Tensor) -> Memory:
        """[B, S, D] -> the memory. Sentences are packed, so the backward direction starts at their own ends."""
        lengths = real.sum(dim=1).clamp(min=1).cpu()  # a row without a sentence reads one zero
        sentences = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        last = []
        for number, layer in enumerate(self.layers):
            if number:
                sentences = _with(sentences, self.dropout(sentences.data))
            sentences, hidden = layer.read(sentences)
            last.append(hidden)
        states, _ = pad_packed_sequence(sentences, batch_first=True, total_length=x.size(1))
        return Memory(states, tuple(last), real)


class Decoder(nn.Module):
    """A stack of layers that go forward; above them, attention over the encoder's states."""

    def __init__(self, settings: RecurrentSettings) -> None:
        super().__init__()
        width, self.feeding = settings.d_model, settings.feeding
        layers = (
            Layer(settings.cell, width + width * (settings.feeding and not number), width)
            for number in range(settings.decoder_layers)
        )
        self.layers = cast("Sequence[Layer]", nn.ModuleList(layers))
        self.dropout = nn.Dropout(settings.dropout)
        self.attention = Attention(settings) if settings.attention != "none" else None
        self.both = projection(2 * width, width, bias=False) if self.attention else None

    def first(self, last: tuple[Hidden, ...]) -> list[Hidden]:
        """Each layer starts as the encoder's layer ended, the top ones side by side; the lowest serves any below."""
        missing = len(last) - len(self.layers)
        return [last[max(0, number + missing)] for number in range(len(self.layers))]

    def look_at(self, memory: Memory) -> Source | None:
        """The encoder's states as attention needs them, computed once for all steps."""
        if self.attention is None:
            return None
        return Source(self.attention.keys(memory.states), memory.states, something_to_see(memory.real))

    def forward(self, x: Tensor, hidden: list[Hidden], source: Source | None) -> Tensor:
        """[B, T, D] -> [B, T, D]. What is fed back makes it go word by word; without, a layer runs at once."""
        fed = torch.zeros_like(x[:, 0])
        if not self.feeding:
            return self.advance(x, fed, hidden, source)[0]
        states = []
        for t in range(x.size(1)):
            state, fed, hidden = self.advance(x[:, t : t + 1], fed, hidden, source)
            states.append(state)
        return torch.cat(states, dim=1)

    def advance(
        self, x: Tensor, fed: Tensor, hidden: Sequence[Hidden], source: Source | None, *, width: int = 1
    ) -> tuple[Tensor, Tensor, list[Hidden]]:
        """[B, T, D] and [B, D] -> [B, T, D], [B, D] what is fed back after the last, and the layers' states."""
        if self.feeding:
            x = torch.cat([x, fed[:, None].to(x.dtype)], dim=-1)
        later = []
        for number, (layer, before) in enumerate(zip(self.layers, hidden, strict=True)):
            x, after = layer(self.dropout(x) if number else x, before)
            later.append(after)
        if self.attention is None or self.both is None or source is None:
            return self.dropout(x), fed, later
        queries = x.reshape(-1, width * x.size(1), x.size(-1))  # the hypotheses of a sentence share its source
        found = self.attention(queries, source).reshape(x.shape)
        joined = self.both(torch.cat([found, x], dim=-1)).tanh()
        return self.dropout(joined), joined[:, -1], later


class Attention(nn.Module):
    """How much each of the encoder's states has to do with a state of the decoder, and their weighted sum."""

    heads = 1

    def __init__(self, settings: RecurrentSettings) -> None:
        super().__init__()
        self.kind, width = settings.attention, settings.d_model
        self.observer: Observer | None = None
        self.key = projection(width, width, bias=False) if self.kind in ("general", "additive") else nn.Identity()
        if self.kind == "additive":
            self.query = projection(width, width)
            self.similarity = projection(width, 1, bias=False)
        if self.kind == "cosine":
            self.sharpness = nn.Parameter(torch.tensor(math.sqrt(width)))

    def keys(self, states: Tensor) -> Tensor:
        """[N, S, D] -> [N, S, D] what the decoder's states are compared with."""
        return self.key(states)

    def forward(self, queries: Tensor, source: Source) -> Tensor:
        """[N, T, D] -> [N, T, D]."""
        scores = self.scores(queries, source.keys).masked_fill(~source.allowed, -math.inf)
        weights = scores.softmax(dim=-1)
        if self.observer is not None:
            parts = (queries, source.keys, source.values, weights)
            weights = self.observer(Lookup(*(part[:, None] for part in parts)))[:, 0]
        return weights.to(source.values.dtype) @ source.values

    def scores(self, queries: Tensor, keys: Tensor) -> Tensor:
        """[N, T, S]: the dot product, of keys or of W keys; v tanh(W1 query + W2 key); or the cosine, sharpened."""
        if self.kind == "additive":
            both = self.query(queries)[:, :, None] + keys[:, None]
            return self.similarity(both.tanh())[..., 0]
        if self.kind == "cosine":
            queries, keys = F.normalize(queries, dim=-1), F.normalize(keys, dim=-1) * self.sharpness
        return queries @ keys.transpose(1, 2).to(queries.dtype)


def _with(sentences: PackedSequence, data: Tensor) -> PackedSequence:
    return PackedSequence(data, *sentences[1:])


ARCHITECTURE = Architecture(
    RecurrentSettings,
    Recurrent,
    shares_rows=False,
    captured=False,  # it asks for lengths
    output_weight=output_weight,
    separated=with_separate_vocabularies,
)
