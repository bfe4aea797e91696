"""What GPT and BERT do otherwise than the paper around the same layers, as settings and parts.

Their embeddings are not multiplied by sqrt(d_model), their positions are learned, BERT normalises the sum of both and
knows two kinds of segments, and its normalisations add another epsilon.

Shapes: B rows, T positions, D = d_model.
"""

from __future__ import annotations

import math
from typing import Any, cast

import torch
from pydantic import Field, NonNegativeInt, PositiveInt
from torch import Tensor, nn
from torch.nn import functional as F

from regard.models.parts.positions import LearnedPositions
from regard.models.parts.transformer_settings import StackSettings
from regard.models.protocols import Rows


class SingleStackSettings(StackSettings):
    """One stack, one vocabulary, and what stands below the stack."""

    vocabulary: PositiveInt
    layers: PositiveInt = 6
    scaled_embeddings: bool = True  # multiplied by sqrt(d_model), section 3.4
    embedding_norm: bool = False  # a LayerNorm over embeddings and positions
    segment_kinds: NonNegativeInt = 0  # learned vectors for kinds of segments; every token is of the first kind
    norm_epsilon: float = Field(default=1e-5, gt=0)
    token_dropout: float = Field(default=0.0, ge=0, lt=1)  # the share of tokens whose whole embedding is left out
    head_dropout: float = Field(default=0.0, ge=0, lt=1)  # on the states that logits are read from


class UnscaledEmbedding(nn.Module):
    """One vector a token, as it is. The same matrix gives the logits when it is tied."""

    def __init__(self, vocabulary: int, d_model: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(vocabulary, d_model) / math.sqrt(d_model))

    def forward(self, tokens: Tensor) -> Tensor:
        """[...] -> [..., D]."""
        return F.embedding(tokens, self.weight)

    def logits(self, x: Tensor, bias: Tensor | None = None) -> Tensor:
        """[..., D] -> [..., V]."""
        return F.linear(x, self.weight, bias)


class Below(nn.Module):
    """What stands below a stack, from tokens to its input: embeddings, positions, segments, a norm, dropout."""

    def __init__(self, settings: SingleStackSettings, *, embedding: nn.Module, positions: nn.Module) -> None:
        super().__init__()
        self.embedding, self.positions = embedding, positions
        if isinstance(positions, LearnedPositions) and not settings.scaled_embeddings:
            with torch.no_grad():
                positions.weight.div_(
                    math.sqrt(settings.d_model)
                )  # as small beside embeddings as it is with scaled ones
        kinds, width = settings.segment_kinds, settings.d_model
        self.segments = nn.Parameter(torch.randn(kinds, width) / math.sqrt(2 * width)) if kinds else None
        self.norm = nn.LayerNorm(width) if settings.embedding_norm else nn.Identity()
        self.dropout, self.token_dropout = nn.Dropout(settings.dropout), settings.token_dropout

    def forward(self, tokens: Tensor, positions: Tensor) -> Tensor:
        """[B, T] ids or [B, T, F] vectors, and [B, T] -> [B, T, D]."""
        x = self.embedding(tokens)
        if self.token_dropout and self.training:
            x = x * self._kept(positions).to(x.dtype)
        x = self.positions(x, positions)
        if self.segments is not None:
            x = x + self.segments[0]
        return cast("Tensor", self.dropout(self.norm(x)))

    def _kept(self, positions: Tensor) -> Tensor:
        """[B, T, 1] by what each token is multiplied: a text's first one stays.

        Where positions are not added, a token that is left out is zero, and so is what it finds among zeros: at zero,
        the gradient of each normalisation is hundreds of times its incoming one, and that of a deep stack is infinite.
        """
        kept = F.dropout(torch.ones(*positions.shape, 1, device=positions.device), self.token_dropout)
        return torch.where((positions == 0)[..., None], 1.0, kept)

    def of(self, rows: Rows) -> Tensor:
        """[B, T, D] of the rows of a batch."""
        return cast("Tensor", self(rows.tokens, rows.positions))


def set_epsilon(model: nn.Module, epsilon: float) -> None:
    """Every normalisation of the model adds this to its variance."""
    for module in model.modules():
        if isinstance(module, nn.LayerNorm):
            module.eps = epsilon


def no_bias(model: Any) -> Tensor | None:
    """[V, D] what gives the logits, where nothing is added to the product."""
    weight: Tensor = model.output_embedding.weight
    return weight if model.output_bias is None else None
