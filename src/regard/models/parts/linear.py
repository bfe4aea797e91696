"""The linear maps that models are made of, and how their weights start."""

from __future__ import annotations

from torch import nn


def projection(inputs: int, outputs: int, *, bias: bool = True) -> nn.Linear:
    """A linear map that keeps the variance of what goes through it, both ways (Xavier), and a bias of zero.

    The paper does not say how its weights start. Post-norm needs sub-layers that neither drown nor vanish beside the
    unit variance that each normalisation leaves on the residual path.
    """
    linear = nn.Linear(inputs, outputs, bias=bias)
    nn.init.xavier_uniform_(linear.weight)
    if bias:
        nn.init.zeros_(linear.bias)
    return linear
