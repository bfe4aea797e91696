"""The Transformer of "Attention Is All You Need" (Vaswani et al., 2017), in the order of the paper's section 3.

Every default is the paper's; departures are named settings. This file is the specification: what is faster
(`models/fast`) replaces modules of it by others with the same parameters, and is tested against it.

Shapes: B rows of a batch, T target or query positions, S source or key positions, D = d_model, H heads,
K = d_k or d_v, the width of a head, V the vocabulary. A mask is True where looking is allowed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard.models.parts.cache import DecoderState
from regard.models.parts.linear import projection
from regard.models.parts.positions import LearnedPositions, NoPositions, NoRotation, Rotation
from regard.models.parts.transformer_settings import StackSettings, TransformerSettings, longest_sentence
from regard.models.parts.vectors import VectorMap
from regard.models.parts.vocabularies import with_separate_vocabularies
from regard.models.protocols import Architecture, AttentionName, Batch, Lookup, Observer, Rows, Sight


class Memory(NamedTuple):
    """The encoder's output."""

    states: Tensor  # [B, S, D]
    rows: Rows  # [B, S] the source


class Transformer(nn.Module):
    """Section 3, figure 1: an encoder, a decoder, and embeddings below and above them."""

    def __init__(self, settings: TransformerSettings) -> None:
        super().__init__()
        self.settings, width, tied = settings, settings.d_model, settings.tied_embeddings
        self.source_embedding = source_embedding(settings)
        same = tied in ("all", "source-target") and settings.source_vectors is None
        self.target_embedding = self.source_embedding if same else Embedding(settings.target_vocabulary, width)
        self.source_positions, self.target_positions = positions_of(settings), positions_of(settings)
        self.dropout = nn.Dropout(settings.dropout)
        self.encoder = Encoder(settings, layers=settings.encoder_layers)
        self.decoder = Decoder(settings, layers=settings.decoder_layers)
        same = tied in ("all", "target-output")
        self.output_embedding = self.target_embedding if same else Embedding(settings.target_vocabulary, width)
        self.output_bias = nn.Parameter(torch.zeros(settings.target_vocabulary)) if settings.output_bias else None

    def forward(self, batch: Batch) -> Tensor:
        """[B, T, V] the logits of the token after each position of the target."""
        return self.logits(self.states(batch))

    def states(self, batch: Batch) -> Tensor:
        """[B, T, D] the decoder's output at each position of the target."""
        target, memory = batch.streams["target"], self.encode(batch.streams["source"])
        x = self.embed_target(target.tokens, target.positions)
        itself = OwnSentence(target, target, backwards=True)
        return self.decoder(x, memory.states, itself, OwnSentence(target, memory.rows))

    def logits(self, x: Tensor) -> Tensor:
        """[..., D] -> [..., V]: section 3.4's linear transformation before the softmax."""
        return self.output_embedding.logits(x, self.output_bias)

    def encode(self, source: Rows) -> Memory:
        """The encoder's output for each position of the source."""
        x = self.source_positions(self.source_embedding(source.tokens), source.positions)
        return Memory(self.encoder(self.dropout(x), OwnSentence(source, source)), source)

    def embed_target(self, tokens: Tensor, positions: Tensor) -> Tensor:
        """[B, T] -> [B, T, D]. A sentence starts with a zero vector, or with the embedding of a start token."""
        x = self.target_embedding(tokens)
        if self.settings.start == "zero":
            x = x.masked_fill((positions == 0)[:, :, None], 0.0)
        return self.dropout(self.target_positions(x, positions))

    @torch.no_grad()
    def start(self, memory: Memory, *, width: int = 1) -> DecoderState:
        """A decoder before its first step; each row of the source holds one sentence. Its keys are computed once."""
        attentions = (layer.source_attention for layer in self.decoder.layers)
        source = [attention.keys_and_values(memory.states, memory.rows.positions) for attention in attentions]
        return DecoderState(source, (memory.rows.segments != 0)[:, None, None], width=width)

    @torch.no_grad()
    def step(self, tokens: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        """[N * width] the tokens generated last (at first any, or the start token) -> [N * width, V] logits."""
        state.begin_step()
        x = self.embed_target(tokens.view(-1, state.width), state.so_far.query_positions)
        logits = self.logits(self.decoder.step(x, state)).flatten(0, 1)
        state.end_step()
        return logits, state

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

    def __init__(self, settings: StackSettings, *, layers: int) -> None:
        super().__init__()
        self.layers = cast("Sequence[EncoderLayer]", nn.ModuleList(EncoderLayer(settings) for _ in range(layers)))
        self.norm = nn.LayerNorm(settings.d_model) if settings.norm == "pre" else nn.Identity()

    def forward(self, x: Tensor, sight: Sight) -> Tensor:
        """[B, S, D] -> [B, S, D]."""
        for layer in self.layers:
            x = layer(x, sight)
        return self.norm(x)


class EncoderLayer(nn.Module):
    """Self-attention, then a feed-forward network."""

    def __init__(self, settings: StackSettings) -> None:
        super().__init__()
        self.self_attention = MultiHeadAttention(settings)
        self.self_attention_residual = Residual(settings)
        self.feed_forward = FeedForward(settings)
        self.feed_forward_residual = Residual(settings)

    def forward(self, x: Tensor, sight: Sight) -> Tensor:
        """[B, S, D] -> [B, S, D]."""
        x = self.self_attention_residual(x, lambda x: self.self_attention(x, x, sight))
        return self.feed_forward_residual(x, self.feed_forward)


class Decoder(nn.Module):
    """Section 3.1: a stack of N identical layers, each of which also attends to the encoder's output."""

    def __init__(self, settings: StackSettings, *, layers: int) -> None:
        super().__init__()
        self.layers = cast("Sequence[DecoderLayer]", nn.ModuleList(DecoderLayer(settings) for _ in range(layers)))
        self.norm = nn.LayerNorm(settings.d_model) if settings.norm == "pre" else nn.Identity()

    def forward(self, x: Tensor, memory: Tensor, itself: Sight, source: Sight) -> Tensor:
        """[B, T, D] and [B, S, D] -> [B, T, D]."""
        for layer in self.layers:
            x = layer(x, memory, itself, source)
        return self.norm(x)

    def step(self, x: Tensor, state: DecoderState) -> Tensor:
        """[N, width, D] -> [N, width, D], for the newest position alone."""
        for number, layer in enumerate(self.layers):
            x = layer.step(x, number, state)
        return self.norm(x)


class DecoderLayer(nn.Module):
    """Masked self-attention, attention over the encoder's output, then a feed-forward network."""

    def __init__(self, settings: StackSettings) -> None:
        super().__init__()
        self.self_attention = MultiHeadAttention(settings)
        self.self_attention_residual = Residual(settings)
        self.source_attention = MultiHeadAttention(settings)
        self.source_attention_residual = Residual(settings)
        self.feed_forward = FeedForward(settings)
        self.feed_forward_residual = Residual(settings)

    def forward(self, x: Tensor, memory: Tensor, itself: Sight, source: Sight) -> Tensor:
        """[B, T, D] and [B, S, D] -> [B, T, D]."""
        x = self.self_attention_residual(x, lambda x: self.self_attention(x, x, itself))
        x = self.source_attention_residual(x, lambda x: self.source_attention(x, memory, source))
        return self.feed_forward_residual(x, self.feed_forward)

    def step(self, x: Tensor, number: int, state: DecoderState) -> Tensor:
        """The same for the newest position. The hypotheses of a sentence are queries over one cache that they share."""

        def attend_to_itself(x: Tensor) -> Tensor:
            return self.self_attention.step(x, number, state)

        def attend_to_source(x: Tensor) -> Tensor:
            return self.source_attention.attend(x, *state.source[number], state.whole_source)

        x = self.self_attention_residual(x, attend_to_itself)
        x = self.source_attention_residual(x, attend_to_source)
        return self.feed_forward_residual(x, self.feed_forward)


class Residual(nn.Module):
    """Section 3.1: LayerNorm(x + Sublayer(x)), with section 5.4's dropout on the sub-layer's output.

    `norm = "pre"` normalises the sub-layer's input instead, and the stack's output once more.
    """

    def __init__(self, settings: StackSettings) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(settings.d_model)
        self.dropout = nn.Dropout(settings.dropout)
        self.pre_norm = settings.norm == "pre"

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """[B, T, D] -> [B, T, D]."""
        if self.pre_norm:
            return x + self.dropout(sublayer(self.norm(x)))
        return self.norm(x + self.dropout(sublayer(x)))


def attention(query: Tensor, key: Tensor, value: Tensor, allowed: Tensor, observer: Observer | None = None) -> Tensor:
    """Section 3.2.1: softmax(QK^T / sqrt(d_k))V. An observer sees the weights, and may change them.

    query [B, H, T, K], key and value [B, H, S, K], allowed [B, 1, T or 1, S] -> [B, H, T, K of the values].
    """
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    weights = scores.masked_fill(~allowed, -math.inf).softmax(dim=-1)
    if observer is not None:
        weights = observer(Lookup(query, key, value, weights))
    return weights @ value


class MultiHeadAttention(nn.Module):
    """Section 3.2.2: h attentions in parallel, each over its own projections, joined by W^O."""

    def __init__(self, settings: StackSettings) -> None:
        super().__init__()
        self.heads, bias = settings.heads, settings.attention_bias
        self.observer: Observer | None = None
        self.query = projection(settings.d_model, settings.heads * settings.d_k, bias=bias)  # W^Q of all heads
        self.key = projection(settings.d_model, settings.heads * settings.d_k, bias=bias)  # W^K
        self.value = projection(settings.d_model, settings.heads * settings.d_v, bias=bias)  # W^V
        self.output = projection(settings.heads * settings.d_v, settings.d_model, bias=bias)  # W^O
        rotary = settings.positions == "rotary"
        self.rotation = Rotation(settings.d_k, settings.rotary_base) if rotary else NoRotation()

    def forward(self, x: Tensor, memory: Tensor, sight: Sight) -> Tensor:
        """[B, T, D] queries over memory [B, S, D] -> [B, T, D]."""
        return self.attend(x, *self.keys_and_values(memory, sight.key_positions), sight)

    def keys_and_values(self, memory: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
        """[B, S, D] -> [B, H, S, K] twice."""
        key = self.rotation(self.key(memory), positions, self.heads)
        return self.by_head(key), self.by_head(self.value(memory))

    def attend(self, x: Tensor, key: Tensor, value: Tensor, sight: Sight) -> Tensor:
        """[B, T, D] -> [B, T, D], over keys and values that were computed before."""
        query = self.by_head(self.rotation(self.query(x), sight.query_positions, self.heads))
        heads = self.attention(query, key, value, sight)
        return self.output(heads.transpose(1, 2).flatten(2))

    def step(self, x: Tensor, number: int, state: DecoderState) -> Tensor:
        """[N, width, D] -> [N, width, D]: the newest position looks at all so far, and at itself."""
        new = self.keys_and_values(x, state.so_far.key_positions)
        return self.attend(x, *state.write(number, *new), state.so_far)

    def attention(self, query: Tensor, key: Tensor, value: Tensor, sight: Sight) -> Tensor:
        """Section 3.2.1 for all heads."""
        return attention(query, key, value, sight.allowed(), self.observer)

    def by_head(self, x: Tensor) -> Tensor:
        """[B, T, H * K] -> [B, H, T, K]."""
        return x.view(x.size(0), x.size(1), self.heads, -1).transpose(1, 2)


class OwnSentence:
    """Section 3.2.3 for rows of several sentences: a token sees its own sentence, a decoder only what came before.

    Padding sees everything, since a softmax over nothing is NaN. Only padding sees padding, and no loss is computed
    there.
    """

    def __init__(self, queries: Rows, keys: Rows, *, backwards: bool = False) -> None:
        self.queries, self.keys, self.backwards = queries, keys, backwards
        self.query_positions, self.key_positions = queries.positions, keys.positions
        self._allowed: Tensor | None = None

    def allowed(self) -> Tensor:
        """[B, 1, T, S], computed once for all layers."""
        if self._allowed is None:
            queries, keys = self.queries.segments[:, :, None], self.keys.segments[:, None, :]
            allowed = ((queries == keys) | (queries == 0))[:, None]
            self._allowed = allowed & torch.ones_like(allowed[0, 0]).tril() if self.backwards else allowed
        return self._allowed


ACTIVATIONS: dict[str, Callable[[], nn.Module]] = {
    "relu": nn.ReLU,
    "gelu": nn.GELU,
    "gelu-tanh": partial(nn.GELU, approximate="tanh"),
    "swish": nn.SiLU,
}


class FeedForward(nn.Module):
    """Section 3.3: max(0, xW1 + b1)W2 + b2, the same at each position."""

    def __init__(self, settings: StackSettings) -> None:
        super().__init__()
        self.inner = projection(settings.d_model, settings.d_ff)
        self.outer = projection(settings.d_ff, settings.d_model)
        self.activation = ACTIVATIONS[settings.activation]()

    def forward(self, x: Tensor) -> Tensor:
        """[B, T, D] -> [B, T, D]."""
        return self.outer(self.activation(self.inner(x)))


class Embedding(nn.Module):
    """Section 3.4: one vector a token, multiplied by sqrt(d_model). The same matrix gives the logits when it is tied.

    Its initial variance is 1 / d_model: tokens enter the stacks with a variance of 1, beside the sinusoids' 1/2, and
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


def source_embedding(settings: TransformerSettings) -> Any:
    """What reads the source: an embedding, or a linear map where the source is vectors."""
    if settings.source_vectors is not None:
        return VectorMap(settings.source_vectors, settings.d_model)
    return Embedding(settings.source_vocabulary, settings.d_model)


class Sinusoids(nn.Module):
    """Section 3.5: PE(pos, 2i) = sin(pos / 10000^(2i/d_model)), PE(pos, 2i+1) = cos(the same). Any length, no weights.

    `halves` puts all sines before all cosines: the same encoding with its dimensions in another order.
    """

    def __init__(self, d_model: int, *, interleaved: bool) -> None:
        super().__init__()
        self.d_model, self.interleaved = d_model, interleaved

    def forward(self, x: Tensor, positions: Tensor) -> Tensor:
        """[B, T, D] and [B, T] -> [B, T, D]."""
        return x + self.encodings(positions).to(x.dtype)

    def encodings(self, positions: Tensor) -> Tensor:
        """[...] -> [..., D], in float64, so that they are exact for large positions, too."""
        exponents = torch.arange(0, self.d_model, 2, dtype=torch.float64, device=positions.device) / self.d_model
        angles = positions[..., None] / 10000**exponents
        parts = [angles.sin(), angles.cos()]
        return torch.stack(parts, dim=-1).flatten(-2) if self.interleaved else torch.cat(parts, dim=-1)


def positions_of(settings: StackSettings) -> nn.Module:
    """The positional encoding that the settings ask for."""
    if settings.positions == "learned":
        return LearnedPositions(settings.learned_positions, settings.d_model)
    if settings.positions == "rotary":
        return NoPositions()
    return Sinusoids(settings.d_model, interleaved=settings.positions == "interleaved")


ARCHITECTURE = Architecture(
    TransformerSettings,
    Transformer,
    rounds=True,
    longest=longest_sentence,
    output_weight=lambda model: model.output_embedding.weight if model.output_bias is None else None,
    separated=with_separate_vocabularies,
)
