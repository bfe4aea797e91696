"""The Transformer of "Attention Is All You Need" (Vaswani et al., 2017), in the order of the paper's section 3.

Every default is the paper's. What departs from it is a named setting, there so that models of other makers fit.

Shapes: B rows of a batch, T target or query positions, S source or key positions, D = d_model, H heads,
K = d_k or d_v, the width of a head, V the vocabulary. A mask is True where looking is allowed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple, Self, cast

import torch
from pydantic import Field, PositiveInt, model_validator
from torch import Tensor, nn
from torch.nn import functional as F

from regard.models.blocks import Blocks, padding_is_left_out, states_of_real_tokens
from regard.models.cache import DecoderState
from regard.models.dropout import Dropout
from regard.models.fused import fused_activation, fused_attention, fused_residual, joint_attention
from regard.models.linear import projection
from regard.models.positions import LearnedPositions, Positions, RotaryPositions, Turn, Turns
from regard.models.verbs import Architecture, AttentionName, Batch, Lookup, Observer, Rows
from regard.models.vocabularies import vocabularies_fit
from regard.settings import Settings


class TransformerSettings(Settings):
    """The choices of section 3; Table 3's columns under their own names."""

    source_vocabulary: PositiveInt
    target_vocabulary: PositiveInt
    encoder_layers: PositiveInt = 6  # N
    decoder_layers: PositiveInt = 6  # N
    d_model: PositiveInt = 512
    d_ff: PositiveInt = 2048
    heads: PositiveInt = 8  # h
    d_k: PositiveInt  # d_model / heads unless said otherwise
    d_v: PositiveInt  # d_model / heads unless said otherwise
    dropout: float = Field(default=0.1, ge=0, lt=1)

    norm: Literal["post", "pre"] = "post"
    activation: Literal["relu", "gelu", "swish"] = "relu"
    positions: Literal["interleaved", "halves", "learned", "rotary"] = "interleaved"
    learned_positions: PositiveInt = 1024  # how many there are, where they are learned
    rotary_base: float = Field(default=10_000, gt=1)  # the smaller, the sooner a word is far away
    tied_embeddings: Literal["all", "target-output", "source-target", "none"] = "all"
    attention_bias: bool = False
    output_bias: bool = False
    start: Literal["zero", "token"] = "zero"  # what the decoder reads before the first word

    @model_validator(mode="before")
    @classmethod
    def _widths_of_a_head(cls, table: Any) -> Any:
        d_model, heads = table.get("d_model", 512), table.get("heads", 8)
        if {"d_k", "d_v"} <= table.keys() or not (isinstance(d_model, int) and isinstance(heads, int) and heads > 0):
            return table
        if d_model % heads:
            raise ValueError(f"heads = {heads} does not divide d_model = {d_model}; choose others, or say d_k and d_v.")
        return {"d_k": d_model // heads, "d_v": d_model // heads} | table

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.positions in ("interleaved", "halves") and self.d_model % 2:
            raise ValueError(f"d_model = {self.d_model} is odd; sinusoids come in pairs, so it must be even.")
        if self.positions == "rotary" and self.d_k % 2:
            raise ValueError(f"d_k = {self.d_k} is odd; rotary positions turn pairs of numbers, so it must be even.")
        vocabularies_fit(self.tied_embeddings, self.source_vocabulary, self.target_vocabulary)
        return self


class Memory(NamedTuple):
    """What the encoder made of the source."""

    states: Tensor  # [B, S, D]
    segments: Tensor  # [B, S]


class Transformer(nn.Module):
    """Section 3, figure 1: an encoder, a decoder, and embeddings below and above them."""

    def __init__(self, settings: TransformerSettings) -> None:
        super().__init__()
        self.settings, width, tied = settings, settings.d_model, settings.tied_embeddings
        self.source_embedding = Embedding(settings.source_vocabulary, width)
        same = tied in ("all", "source-target")
        self.target_embedding = self.source_embedding if same else Embedding(settings.target_vocabulary, width)
        self.source_positions, self.target_positions = positions_of(settings), positions_of(settings)
        self.dropout = Dropout(settings.dropout)
        self.encoder, self.decoder = Encoder(settings), Decoder(settings)
        same = tied in ("all", "target-output")
        self.output_embedding = self.target_embedding if same else Embedding(settings.target_vocabulary, width)
        self.output_bias = nn.Parameter(torch.zeros(settings.target_vocabulary)) if settings.output_bias else None

    def forward(self, batch: Batch) -> Tensor:
        """[B, T, V] the logits of the word after each position of the target."""
        return self.logits(self.states(batch))

    def states(self, batch: Batch) -> Tensor:
        """[B, T, D] the decoder's output at each position of the target."""
        if padding_is_left_out(self, batch):
            return states_of_real_tokens(self, batch)
        memory = self.encode(batch.source)
        x = self.embed_target(batch.target)
        allowed = may_look(batch.target.segments, batch.target.segments) & backwards(x.size(1), x.device)
        over_source = may_look(batch.target.segments, memory.segments)
        own, source = (self.source_positions.turn(side.positions) for side in (batch.target, batch.source))
        return self.decoder(x, memory.states, allowed, over_source, (own, own), (own, source))

    def encode(self, source: Rows) -> Memory:
        """The encoder's output for each position of the source."""
        x, turn = self.embed_source(source), self.source_positions.turn(source.positions)
        return Memory(self.encoder(x, may_look(source.segments, source.segments), (turn, turn)), source.segments)

    def embed_source(self, source: Rows) -> Tensor:
        """What enters the encoder."""
        x = self.source_embedding(source.tokens)
        return self.dropout(x + self.source_positions.at(source.positions, like=x))

    def embed_target(self, target: Rows) -> Tensor:
        """What enters the decoder. At a sentence's start stands a zero vector, or the embedding of the start token."""
        x = self.target_embedding(target.tokens)
        if self.settings.start == "zero":
            x = x.masked_fill((target.positions == 0)[:, :, None], 0.0)
        return self.dropout(x + self.target_positions.at(target.positions, like=x))

    def logits(self, x: Tensor) -> Tensor:
        """[..., D] -> [..., V]: section 3.4's linear transformation before the softmax."""
        return self.output_embedding.logits(x, self.output_bias)

    def output_weight(self) -> Tensor | None:
        """[V, D] what `logits` multiplies by, where that is all that it does."""
        return self.output_embedding.weight if self.output_bias is None else None

    @torch.no_grad()
    def start(self, memory: Memory, *, width: int = 1) -> DecoderState:
        """A decoder that has said nothing; each row of the source holds one sentence. Keys are computed here, once."""
        turn = self.source_positions.turn(torch.arange(memory.states.size(1), device=memory.states.device))
        pairs = (layer.source_attention.keys_and_values(memory.states, turn) for layer in self.decoder.layers)
        source = [(key.contiguous(), value.contiguous()) for key, value in pairs]
        return DecoderState(source, (memory.segments != 0)[:, None, None], width=width)

    @torch.no_grad()
    def step(self, tokens: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        """[N * width] the words said last (at first anything, or the start token) -> [N * width, V] logits."""
        self.before_step(state)
        logits = self.next_logits(tokens, state)
        self.after_step(state)
        return logits, state

    def reserve(self, state: DecoderState, words: int) -> None:
        """Room for sentences of so many words, made once."""
        state.reserve(words)

    def before_step(self, state: DecoderState) -> None:
        """Makes room for what the step will write."""
        state.begin_step()
        if len(state.positions) <= state.oldest:
            like = self.target_embedding.weight
            state.positions = self.target_positions.table(state.oldest, state.capacity, like=like)

    def after_step(self, state: DecoderState) -> None:
        """All are one word further."""
        state.end_step()

    def next_logits(self, tokens: Tensor, state: DecoderState) -> Tensor:
        """[N * width] -> [N * width, V]: the part of a step that only computes, and writes in place."""
        x = self.target_embedding(tokens.view(-1, state.width))
        if self.settings.start == "zero":
            x = x.masked_fill((state.ages == 0)[:, None, None], 0.0)
        x = self.dropout(x + state.positions[state.ages.clamp(max=len(state.positions) - 1)][:, None])
        turn = self.target_positions.turn(state.ages[:, None])
        logits = self.logits(self.decoder.step(x, state, turn)).flatten(0, 1)
        state.ages += 1
        return logits

    def attentions(self) -> dict[AttentionName, MultiHeadAttention]:
        """Section 3.2.3's three uses of attention, layer by layer."""
        encoder, decoder = list(enumerate(self.encoder.layers)), list(enumerate(self.decoder.layers))
        return (
            {AttentionName("encoder", i): layer.self_attention for i, layer in encoder}
            | {AttentionName("decoder", i): layer.self_attention for i, layer in decoder}
            | {AttentionName("decoder-source", i): layer.source_attention for i, layer in decoder}
        )


class Encoder(nn.Module):
    """Section 3.1: a stack of N identical layers."""

    def __init__(self, settings: TransformerSettings) -> None:
        super().__init__()
        layers = (EncoderLayer(settings) for _ in range(settings.encoder_layers))
        self.layers = cast("Sequence[EncoderLayer]", nn.ModuleList(layers))
        self.norm = nn.LayerNorm(settings.d_model) if settings.norm == "pre" else nn.Identity()

    def forward(self, x: Tensor, allowed: Tensor | Blocks, turns: Turns = (None, None)) -> Tensor:
        """[B, S, D] -> [B, S, D]; `allowed` is [B, 1, S, S]."""
        for layer in self.layers:
            x = layer(x, allowed, turns)
        return self.norm(x)


class EncoderLayer(nn.Module):
    """Self-attention, then a feed-forward network."""

    def __init__(self, settings: TransformerSettings) -> None:
        super().__init__()
        self.self_attention = MultiHeadAttention(settings)
        self.self_attention_residual = Residual(settings)
        self.feed_forward = FeedForward(settings)
        self.feed_forward_residual = Residual(settings)

    def forward(self, x: Tensor, allowed: Tensor | Blocks, turns: Turns) -> Tensor:
        """[B, S, D] -> [B, S, D]."""
        x = self.self_attention_residual(x, lambda x: self.self_attention(x, x, allowed, turns))
        return self.feed_forward_residual(x, self.feed_forward)


class Decoder(nn.Module):
    """Section 3.1: a stack of N identical layers, each of which also attends to the encoder's output."""

    def __init__(self, settings: TransformerSettings) -> None:
        super().__init__()
        layers = (DecoderLayer(settings) for _ in range(settings.decoder_layers))
        self.layers = cast("Sequence[DecoderLayer]", nn.ModuleList(layers))
        self.norm = nn.LayerNorm(settings.d_model) if settings.norm == "pre" else nn.Identity()

    def forward(
        self, x: Tensor, memory: Tensor, allowed: Tensor | Blocks, source_allowed: Tensor | Blocks,
        turns: Turns = (None, None), source_turns: Turns = (None, None),
    ) -> Tensor:  # fmt: skip
        """[B, T, D] -> [B, T, D]; `allowed` is [B, 1, T, T], `source_allowed` [B, 1, T, S]."""
        for layer in self.layers:
            x = layer(x, memory, allowed, source_allowed, turns, source_turns)
        return self.norm(x)

    def step(self, x: Tensor, state: DecoderState, turn: Turn | None) -> Tensor:
        """[N, width, D] -> [N, width, D], one position later."""
        allowed = state.allowed()
        for number, layer in enumerate(self.layers):
            x = layer.step(x, number, state, allowed, turn)
        return self.norm(x)


class DecoderLayer(nn.Module):
    """Masked self-attention, attention over the encoder's output, then a feed-forward network."""

    def __init__(self, settings: TransformerSettings) -> None:
        super().__init__()
        self.self_attention = MultiHeadAttention(settings)
        self.self_attention_residual = Residual(settings)
        self.source_attention = MultiHeadAttention(settings)
        self.source_attention_residual = Residual(settings)
        self.feed_forward = FeedForward(settings)
        self.feed_forward_residual = Residual(settings)

    def forward(
        self, x: Tensor, memory: Tensor, allowed: Tensor | Blocks, source_allowed: Tensor | Blocks, turns: Turns,
        source_turns: Turns,
    ) -> Tensor:  # fmt: skip
        """[B, T, D] -> [B, T, D]."""
        x = self.self_attention_residual(x, lambda x: self.self_attention(x, x, allowed, turns))
        x = self.source_attention_residual(x, lambda x: self.source_attention(x, memory, source_allowed, source_turns))
        return self.feed_forward_residual(x, self.feed_forward)

    def step(self, x: Tensor, number: int, state: DecoderState, allowed: Tensor, turn: Turn | None) -> Tensor:
        """The same for the one newest position. A sentence's hypotheses are queries over what all of them have said."""

        def attend_to_itself(x: Tensor) -> Tensor:
            said = state.write(number, *self.self_attention.keys_and_values(x, turn))
            return self.self_attention.attend(x, *said, allowed, turn)

        def attend_to_source(x: Tensor) -> Tensor:
            return self.source_attention.attend(x, *state.source[number], state.source_allowed, turn)

        x = self.self_attention_residual(x, attend_to_itself)
        x = self.source_attention_residual(x, attend_to_source)
        return self.feed_forward_residual(x, self.feed_forward)


class Residual(nn.Module):
    """Section 3.1: LayerNorm(x + Sublayer(x)), with section 5.4's dropout on what the sub-layer gives.

    `norm = "pre"` normalises what enters the sub-layer instead, and once more at the end of the stack.
    """

    def __init__(self, settings: TransformerSettings) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(settings.d_model)
        self.dropout = Dropout(settings.dropout)
        self.pre_norm = settings.norm == "pre"

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """[B, T, D] -> [B, T, D]."""
        if self.pre_norm:
            return x + self.dropout(sublayer(self.norm(x)))
        return fused_residual(x, sublayer(x), self.norm, self.dropout)


def attention(
    query: Tensor, key: Tensor, value: Tensor, allowed: Tensor | None, observer: Observer | None = None
) -> Tensor:
    """Section 3.2.1: softmax(QK^T / sqrt(d_k))V, in one fused kernel unless somebody wants to see the weights.

    query [B, H, T, K], key and value [B, H, S, K], allowed [B, 1, T or 1, S] -> [B, H, T, K of the values].
    """
    if observer is None:
        return fused_attention(query, key, value, allowed)
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    if allowed is not None:
        scores = scores.masked_fill(~allowed, -math.inf)
    return observer(Lookup(query, key, value, scores.softmax(dim=-1))) @ value


class MultiHeadAttention(nn.Module):
    """Section 3.2.2: h attentions side by side, each over its own projections, joined by W^O."""

    def __init__(self, settings: TransformerSettings) -> None:
        super().__init__()
        self.heads, bias = settings.heads, settings.attention_bias
        self.observer: Observer | None = None
        self.query = projection(settings.d_model, settings.heads * settings.d_k, bias=bias)  # W^Q of all heads
        self.key = projection(settings.d_model, settings.heads * settings.d_k, bias=bias)  # W^K
        self.value = projection(settings.d_model, settings.heads * settings.d_v, bias=bias)  # W^V
        self.output = projection(settings.heads * settings.d_v, settings.d_model, bias=bias)  # W^O

    def forward(self, x: Tensor, memory: Tensor, allowed: Tensor | Blocks, turns: Turns = (None, None)) -> Tensor:
        """[B, T, D] asks, memory [B, S, D] answers -> [B, T, D]; `turns` are for rotary positions."""
        of_x, of_memory = turns
        if isinstance(allowed, Blocks):
            query, key = self._turned(self.query(x), of_x), self._turned(self.key(memory), of_memory)
            return self.output(allowed.attend(query, key, self.value(memory)))
        heads = joint_attention(self, x, memory, allowed, turns)
        if heads is None:
            return self.attend(x, *self.keys_and_values(memory, of_memory), allowed, of_x)
        return self.output(heads)

    def keys_and_values(self, memory: Tensor, turn: Turn | None = None) -> tuple[Tensor, Tensor]:
        """[B, S, D] -> [B, H, S, K] twice."""
        return self._by_head(self._turned(self.key(memory), turn)), self._by_head(self.value(memory))

    def attend(self, x: Tensor, key: Tensor, value: Tensor, allowed: Tensor | None, turn: Turn | None = None) -> Tensor:
        """[B, T, D] -> [B, T, D], over keys and values that are already there."""
        query = self._by_head(self._turned(self.query(x), turn))
        heads = attention(query, key, value, allowed, self.observer)
        return self.output(heads.transpose(1, 2).flatten(2))

    def _turned(self, x: Tensor, turn: Turn | None) -> Tensor:
        return x if turn is None else turn(x, self.heads)

    def _by_head(self, x: Tensor) -> Tensor:
        return x.view(x.size(0), x.size(1), self.heads, -1).transpose(1, 2)  # [B, T, H * K] -> [B, H, T, K]


def may_look(queries: Tensor, keys: Tensor) -> Tensor:
    """Section 3.2.3 for rows of several sentences: segments [B, T] and [B, S] -> [B, 1, T, S].

    A word looks at the words of its own sentence. Padding looks everywhere, since a softmax over nothing is not a
    number; nothing looks at padding but padding, and no loss is computed there.
    """
    same_sentence = queries[:, :, None] == keys[:, None, :]
    return (same_sentence | (queries == 0)[:, :, None])[:, None]


def backwards(length: int, device: torch.device) -> Tensor:
    """[T, T]: a position of the decoder sees itself and what is before it (section 3.2.3)."""
    return torch.ones(length, length, dtype=torch.bool, device=device).tril()


class FeedForward(nn.Module):
    """Section 3.3: max(0, xW1 + b1)W2 + b2, the same at each position."""

    def __init__(self, settings: TransformerSettings) -> None:
        super().__init__()
        self.inner = projection(settings.d_model, settings.d_ff)
        self.outer = projection(settings.d_ff, settings.d_model)
        self.activation = {"relu": nn.ReLU, "gelu": nn.GELU, "swish": nn.SiLU}[settings.activation]()

    def forward(self, x: Tensor) -> Tensor:
        """[B, T, D] -> [B, T, D]."""
        return self.outer(fused_activation(x, self.inner, self.activation))


class Embedding(nn.Module):
    """Section 3.4: one vector a word, multiplied by sqrt(d_model). The same matrix gives the logits when it is tied.

    It starts with a variance of 1 / d_model: words enter the stacks with a variance of 1, like the sinusoids' 1/2, and
    a normalised state gives logits with a variance of 1.
    """

    def __init__(self, vocabulary: int, d_model: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(vocabulary, d_model) / math.sqrt(d_model))

    def forward(self, tokens: Tensor) -> Tensor:
        """[...] -> [..., D]."""
        return F.embedding(tokens, self.weight) * math.sqrt(self.weight.size(1))

    def logits(self, x: Tensor, bias: Tensor | None = None) -> Tensor:
        """[..., D] -> [..., V]."""
        return F.linear(x, self.weight, bias)


class Sinusoids(Positions):
    """Section 3.5: PE(pos, 2i) = sin(pos / 10000^(2i/d_model)), PE(pos, 2i+1) = cos(the same). Any length, no weights.

    `halves` puts all sines before all cosines: the same encoding with its dimensions in another order.
    """

    first_ones: Tensor

    def __init__(self, d_model: int, *, interleaved: bool) -> None:
        super().__init__()
        self.d_model, self.interleaved = d_model, interleaved
        self.register_buffer("first_ones", self.encodings(torch.arange(256)), persistent=False)  # to look them up

    def forward(self, first: int, length: int, *, like: Tensor) -> Tensor:
        """[length, D] for the positions from `first` on; exact also where they are large."""
        if first + length <= len(self.first_ones):
            return self.first_ones[first : first + length].to(like.dtype)
        return self.encodings(torch.arange(first, first + length, device=like.device)).to(like.dtype)

    def encodings(self, positions: Tensor) -> Tensor:
        """[T] -> [T, D], in float64."""
        exponents = torch.arange(0, self.d_model, 2, dtype=torch.float64, device=positions.device) / self.d_model
        angles = positions[:, None] / 10000**exponents
        parts = [angles.sin(), angles.cos()]
        return torch.stack(parts, dim=-1).flatten(1) if self.interleaved else torch.cat(parts, dim=1)


def positions_of(settings: TransformerSettings) -> Positions:
    """The positional encoding that the settings ask for."""
    if settings.positions == "learned":
        return LearnedPositions(settings.learned_positions, settings.d_model)
    if settings.positions == "rotary":
        return RotaryPositions(settings.d_k, settings.rotary_base)
    return Sinusoids(settings.d_model, interleaved=settings.positions == "interleaved")


ARCHITECTURE = Architecture(
    TransformerSettings,
    Transformer,
    rounds=True,
    longest=lambda s: s.learned_positions if s.positions == "learned" else None,
)
