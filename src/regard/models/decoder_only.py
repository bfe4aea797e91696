"""The decoder alone (Liu et al., 2018; Radford et al., 2018), from the paper's own parts: a language model.

Without a source, a decoder's layer is masked self-attention and a feed-forward network: the encoder's layer, whose
sight is limited to what came before.

Shapes: B rows, T positions, D = d_model, V the vocabulary.
"""

from __future__ import annotations

import torch
from pydantic import PositiveInt
from torch import Tensor, nn

from regard.models.parts.transformer_settings import StackSettings, longest_sentence
from regard.models.protocols import Architecture, AttentionName, Batch
from regard.models.transformer import Embedding, Encoder, MultiHeadAttention, OwnSentence, positions_of


class DecoderOnlySettings(StackSettings):
    """One stack, and one vocabulary."""

    vocabulary: PositiveInt
    layers: PositiveInt = 6
    tied_embeddings: bool = True


class DecoderOnly(nn.Module):
    """Embeddings, a stack of layers that see only what came before, and the output's embedding."""

    def __init__(self, settings: DecoderOnlySettings) -> None:
        super().__init__()
        self.settings = settings
        self.embedding = Embedding(settings.vocabulary, settings.d_model)
        self.positions = positions_of(settings)
        self.dropout = nn.Dropout(settings.dropout)
        self.stack = Encoder(settings, layers=settings.layers)
        tied = settings.tied_embeddings
        self.output_embedding = self.embedding if tied else Embedding(settings.vocabulary, settings.d_model)
        self.output_bias = nn.Parameter(torch.zeros(settings.vocabulary)) if settings.output_bias else None

    def forward(self, batch: Batch) -> Tensor:
        """[B, T, V] the logits of the token at each position."""
        return self.logits(self.states(batch))

    def states(self, batch: Batch) -> Tensor:
        """[B, T, D] the stack's output at each position."""
        text = batch.streams["text"]
        x = self.dropout(self.positions(self.embedding(text.tokens), text.positions))
        return self.stack(x, OwnSentence(text, text, backwards=True))

    def logits(self, x: Tensor) -> Tensor:
        """[..., D] -> [..., V]."""
        return self.output_embedding.logits(x, self.output_bias)

    def attentions(self) -> dict[AttentionName, MultiHeadAttention]:
        """The self-attention of each layer."""
        return {AttentionName("decoder", i): layer.self_attention for i, layer in enumerate(self.stack.layers)}


ARCHITECTURE = Architecture(
    DecoderOnlySettings,
    DecoderOnly,
    rounds=True,
    longest=longest_sentence,
    output_weight=lambda model: model.output_embedding.weight if model.output_bias is None else None,
    vocabularies={"text": "vocabulary"},
)
