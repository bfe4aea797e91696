"""Vectors in place of tokens: a linear map in place of the embedding.

Shapes: B rows, T positions, F features, D = d_model.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from regard.models.parts.linear import projection
from regard.vectors.shape import VectorShape


class VectorMap(nn.Module):
    """xW + b of vectors whose features have a mean of 0 and a variance of 1 over the training data."""

    mean: Tensor
    scale: Tensor

    def __init__(self, shape: VectorShape, d_model: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.tensor(shape.mean), persistent=False)
        self.register_buffer("scale", 1 / torch.tensor(shape.deviation), persistent=False)
        self.map = projection(shape.features, d_model)

    def forward(self, vectors: Tensor) -> Tensor:
        """[B, T, F] -> [B, T, D]."""
        standard: Tensor = (vectors - self.mean) * self.scale
        mapped: Tensor = self.map(standard.to(self.map.weight.dtype))
        return mapped
