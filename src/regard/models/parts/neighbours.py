"""Tokens that read their neighbours before a stack does: a convolution over the texts of a row.

Attention has to learn which tokens stand side by side. Few labelled texts do not teach it that, though the words of a
phrase decide most labels; a convolution knows it from the start.

Shapes: B rows, T positions, D = d_model, W tokens of a window.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard.models.parts.linear import projection


class Neighbours(nn.Module):
    """x + dropout(activation(a linear map of the window around each token)). Beyond the ends of its text are zeros."""

    def __init__(self, d_model: int, *, window: int, activation: Callable[[], nn.Module], dropout: float) -> None:
        super().__init__()
        self.before = (window - 1) // 2
        self.after = window - 1 - self.before
        self.map = projection(window * d_model, d_model)
        self.activation, self.dropout = activation(), nn.Dropout(dropout)

    def forward(self, x: Tensor, segments: Tensor) -> Tensor:
        """[B, T, D] and [B, T] -> [B, T, D]."""
        return x + cast("Tensor", self.dropout(self.activation(self.map(self.windows(x, segments)))))

    def windows(self, x: Tensor, segments: Tensor) -> Tensor:
        """[B, T, W * D]: each token between those before and after it, zeros in place of those of other texts."""
        length = x.size(1)
        tokens = F.pad(x, (0, 0, self.before, self.after))
        numbers = F.pad(segments, (self.before, self.after))
        seen = []
        for first in range(self.before + self.after + 1):
            own = (numbers[:, first : first + length] == segments)[..., None]
            seen.append(tokens[:, first : first + length] * own.to(x.dtype))
        return torch.cat(seen, dim=-1)


class NoNeighbours(nn.Module):
    """Every token reads itself alone."""

    def forward(self, x: Tensor, segments: Tensor) -> Tensor:  # noqa: ARG002  the other needs them
        """[B, T, D] -> [B, T, D]."""
        return x
