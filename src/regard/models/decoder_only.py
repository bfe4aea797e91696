"""The decoder alone (Liu et al., 2018; Radford et al., 2018), from the paper's own parts: a language model.

Without a source, a decoder's layer is masked self-attention and a feed-forward network: the encoder's layer, whose
sight is limited to what came before. When it goes on from the beginning of a text, this beginning takes the place of
the source: it is read once, and all continuations of it share its keys and values.

Shapes: B rows, T positions, D = d_model, V the vocabulary; N texts, W continuations of each, S tokens of a beginning,
H heads, K width of a key.
"""

from __future__ import annotations

from typing import NamedTuple, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard.models.parts.cache import DecoderState, KeysAndValues, Seen
from regard.models.parts.descendants import Below, SingleStackSettings, UnscaledEmbedding, no_bias, set_epsilon
from regard.models.parts.transformer_settings import longest_sentence
from regard.models.protocols import Architecture, AttentionName, Batch, Rows
from regard.models.transformer import (
    Embedding,
    Encoder,
    EncoderLayer,
    MultiHeadAttention,
    OwnSentence,
    positions_of,
)


class DecoderOnlySettings(SingleStackSettings):
    """One stack, and one vocabulary."""

    tied_embeddings: bool = True


class Beginning(NamedTuple):
    """The beginnings of N texts, which have been read."""

    layers: list[KeysAndValues]  # [N, H, S, K] of each layer
    last: Tensor  # [N, 1, S, D] the embedded last token, which the first step reads; zeros behind it
    allowed: Tensor  # [N, 1, 1, S] True where looking is allowed: everywhere but at the last token and at padding


class DecoderOnly(nn.Module):
    """Embeddings, a stack of layers that see only what came before, and the output's embedding."""

    def __init__(self, settings: DecoderOnlySettings) -> None:
        super().__init__()
        self.settings, kind = settings, Embedding if settings.scaled_embeddings else UnscaledEmbedding
        self.embedding = kind(settings.vocabulary, settings.d_model)
        self.below = Below(settings, embedding=self.embedding, positions=positions_of(settings))
        self.stack = Encoder(settings, layers=settings.layers)
        self.head_dropout = nn.Dropout(settings.head_dropout)
        tied = settings.tied_embeddings
        self.output_embedding = self.embedding if tied else kind(settings.vocabulary, settings.d_model)
        self.output_bias = nn.Parameter(torch.zeros(settings.vocabulary)) if settings.output_bias else None
        set_epsilon(self, settings.norm_epsilon)

    def forward(self, batch: Batch) -> Tensor:
        """[B, T, V] the logits of the token after each position."""
        return self.logits(self.states(batch))

    def states(self, batch: Batch) -> Tensor:
        """[B, T, D] the stack's output at each position."""
        text = batch.streams["text"]
        x = self.stack(self.below.of(text), OwnSentence(text, text, backwards=True))
        return cast("Tensor", self.head_dropout(x))

    def logits(self, x: Tensor) -> Tensor:
        """[..., D] -> [..., V]."""
        return self.output_embedding.logits(x, self.output_bias)

    @torch.no_grad()
    def encode(self, source: Rows) -> Beginning:
        """Reads the beginnings of texts, one a row, each with the token that begins all of them."""
        sight, kept = OwnSentence(source, source, backwards=True), []
        first = x = self.below.of(source)
        for layer in self.stack.layers:
            x, new = _keeping(layer, x, sight)
            kept.append(new)
        lengths = (source.segments != 0).sum(1)
        places = torch.arange(source.tokens.size(1), device=lengths.device)
        last = first[torch.arange(len(first), device=lengths.device), lengths - 1]  # [N, D]
        placed = F.pad(last[:, None, None], (0, 0, 0, first.size(1) - 1))
        return Beginning(kept, placed, (places < lengths[:, None] - 1)[:, None, None])

    @torch.no_grad()
    def start(self, memory: Beginning, *, width: int = 1) -> DecoderState:
        """A decoder before its first step, which reads the last token of each beginning, whatever it is given."""
        return DecoderState([*memory.layers, (memory.last, memory.last)], memory.allowed, width=width)

    @torch.no_grad()
    def step(self, tokens: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        """[N * W] the tokens generated last -> [N * W, V] logits of the next."""
        state.begin_step()
        positions = state.so_far.query_positions + state.source_allowed.sum((1, 3))  # [N, 1]
        x = self.below(tokens.view(-1, state.width), positions)
        x = torch.where((state.so_far.query_positions == 0)[..., None], state.source[-1][0][:, 0, :1], x)
        before = state.source_allowed.expand(-1, -1, state.so_far.mask.size(2), -1)
        sight = Seen(torch.cat([before, state.so_far.mask], 3), positions, positions)
        for number, layer in enumerate(self.stack.layers):
            x = _step(layer, x, number, state, sight)
        logits = self.logits(self.stack.norm(x)).flatten(0, 1)
        state.end_step()
        return logits, state

    def attentions(self) -> dict[AttentionName, MultiHeadAttention]:
        """The self-attention of each layer."""
        return {AttentionName("decoder", i): layer.self_attention for i, layer in enumerate(self.stack.layers)}


def _keeping(layer: EncoderLayer, x: Tensor, sight: OwnSentence) -> tuple[Tensor, KeysAndValues]:
    """[N, S, D] -> [N, S, D], and the keys and values on the way."""
    kept: list[KeysAndValues] = []

    def attend(x: Tensor) -> Tensor:
        kept.append(layer.self_attention.keys_and_values(x, sight.key_positions))
        return layer.self_attention.attend(x, *kept[0], sight)

    x = layer.self_attention_residual(x, attend)
    return layer.feed_forward_residual(x, layer.feed_forward), kept[0]


def _step(layer: EncoderLayer, x: Tensor, number: int, state: DecoderState, sight: Seen) -> Tensor:
    """[N, W, D] -> [N, W, D], for the newest position alone: it sees the beginning, and what was generated since."""

    def attend(x: Tensor) -> Tensor:
        new = layer.self_attention.keys_and_values(x, sight.key_positions)
        both = zip(state.source[number], state.write(number, *new), strict=True)
        key, value = (torch.cat([before.to(own.dtype), own], 2) for before, own in both)
        return layer.self_attention.attend(x, key, value, sight)

    x = layer.self_attention_residual(x, attend)
    return layer.feed_forward_residual(x, layer.feed_forward)


ARCHITECTURE = Architecture(
    DecoderOnlySettings,
    DecoderOnly,
    rounds=True,
    longest=longest_sentence,
    output_weight=no_bias,
    vocabularies={"text": "vocabulary"},
)
