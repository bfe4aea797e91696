"""The encoder alone (BERT: Devlin et al., 2018), from the paper's own parts.

Every token sees its whole text. Without labels, a head over the vocabulary restores masked tokens; with labels, a
linear map names the class of a text, or the tag of each word. Vectors (frames, patches of images) can take the place
of tokens: a linear map then takes the place of the embedding.

Shapes: B rows, T positions, D = d_model, V the vocabulary or the labels.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self, cast

import torch
from pydantic import Field, NonNegativeInt, model_validator
from torch import Tensor, nn
from torch.nn import functional as F

from regard.models.parts.descendants import Below, SingleStackSettings, UnscaledEmbedding, set_epsilon
from regard.models.parts.linear import projection
from regard.models.parts.neighbours import Neighbours, NoNeighbours
from regard.models.parts.pooling import POOLINGS
from regard.models.parts.transformer_settings import longest_sentence
from regard.models.parts.vectors import VectorMap
from regard.models.protocols import Architecture, AttentionName, Batch, Rows
from regard.models.transformer import ACTIVATIONS, Embedding, Encoder, MultiHeadAttention, OwnSentence, positions_of
from regard.vectors.shape import VectorShape


class EncoderOnlySettings(SingleStackSettings):
    """One stack, one vocabulary, and what its states are for."""

    labels: Annotated[tuple[str, ...], Field(strict=False)] = ()  # names of classes or tags; none: a masked model
    pooling: Literal["none", "mean", "max", "first"] = "none"  # what a text's label is read from; none: each its own
    legal_tags: bool = False  # whether tags mark spans that all begin with B-, and sequences of tags have to, too
    neighbours: NonNegativeInt = 0  # the window of a convolution below the stack, in tokens; 0: none
    vectors: VectorShape | None = None  # vectors in place of tokens, which a linear map reads
    head_transform: bool = True  # BERT's linear map, activation and norm before the logits of a masked model

    @model_validator(mode="after")
    def _labels_fit(self) -> Self:
        if len(set(self.labels)) < len(self.labels):
            raise ValueError("labels: two labels have the same name.")
        if self.vectors is not None and not self.labels:
            raise ValueError("vectors: a model of vectors needs labels, since it has no vocabulary.")
        return self


class EncoderOnly(nn.Module):
    """Embeddings, a stack of layers that see everything, and a head."""

    def __init__(self, settings: EncoderOnlySettings) -> None:
        super().__init__()
        self.settings, width, outputs = settings, settings.d_model, len(settings.labels)
        self.embedding = _embedding(settings)
        self.below = Below(settings, embedding=self.embedding, positions=positions_of(settings))
        self.stack = Encoder(settings, layers=settings.layers)
        self.neighbours = (
            Neighbours(
                width,
                window=settings.neighbours,
                activation=ACTIVATIONS[settings.activation],
                dropout=settings.dropout,
            )
            if settings.neighbours
            else NoNeighbours()
        )
        self.head_dropout = nn.Dropout(settings.head_dropout)
        transforms = settings.head_transform and not outputs
        self.transform = (
            nn.Sequential(projection(width, width), ACTIVATIONS[settings.activation](), nn.LayerNorm(width))
            if transforms
            else nn.Identity()
        )
        self.output_embedding = UnscaledEmbedding(outputs, width) if outputs else self.embedding
        biased = settings.output_bias or outputs
        self.output_bias = nn.Parameter(torch.zeros(outputs or settings.vocabulary)) if biased else None
        set_epsilon(self, settings.norm_epsilon)

    def forward(self, batch: Batch) -> Tensor:
        """[B, T, V] the logits of the label of each position."""
        return self.logits(self.states(batch))

    def states(self, batch: Batch) -> Tensor:
        """[B, T, D] what the labels are read from."""
        (text,) = batch.streams.values()
        x = POOLINGS[self.settings.pooling](self.read(text), text.segments)
        return cast("Tensor", self.transform(self.head_dropout(x)))

    def read(self, text: Rows) -> Tensor:
        """[B, T, D] the stack's output at each position."""
        x = self.neighbours(self.below.of(text), text.segments)
        return self.stack(x, OwnSentence(text, text))

    def logits(self, x: Tensor) -> Tensor:
        """[..., D] -> [..., V]."""
        return F.linear(x, cast("Tensor", self.output_embedding.weight), self.output_bias)

    def attentions(self) -> dict[AttentionName, MultiHeadAttention]:
        """The self-attention of each layer."""
        return {AttentionName("encoder", i): layer.self_attention for i, layer in enumerate(self.stack.layers)}


def _embedding(settings: EncoderOnlySettings) -> nn.Module:
    if settings.vectors is not None:
        return VectorMap(settings.vectors, settings.d_model)
    kind = Embedding if settings.scaled_embeddings else UnscaledEmbedding
    return kind(settings.vocabulary, settings.d_model)


ARCHITECTURE = Architecture(
    EncoderOnlySettings,
    EncoderOnly,
    rounds=True,
    longest=longest_sentence,
    vocabularies={"text": "vocabulary"},
)
