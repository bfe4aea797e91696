"""The linear maps that models are made of, and how their weights start."""

from __future__ import annotations

from torch import Tensor, nn

from regard.models.onednn import product


class Linear(nn.Linear):
    """x W^T + b, as nn.Linear computes it, with the product that is fastest."""

    def forward(self, x: Tensor) -> Tensor:
        """[..., inputs] -> [..., outputs]."""
        return product(x, self.weight, self.bias)


def projection(inputs: int, outputs: int, *, bias: bool = True) -> nn.Linear:
    """A linear map that keeps the variance of what goes through it, both ways (Xavier), and a bias of zero.

    The paper does not say how its weights start. Post-norm needs sub-layers that neither drown nor vanish beside the
    unit variance that each normalisation leaves on the residual path.
    """
    linear = Linear(inputs, outputs, bias=bias)
    nn.init.xavier_uniform_(linear.weight)
    if bias:
        nn.init.zeros_(linear.bias)
    return linear
