"""The linear maps of a model: how they start, and which product computes them.

On x86 processors PyTorch multiplies matrices of float32 with MKL. oneDNN, which PyTorch also brings along, is quicker on
AMD's by a tenth; it makes a kernel for each shape, so this pays where shapes come again and again, as in training.

Shapes: P positions, I inputs, O outputs.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class Linear(nn.Linear):
    """nn.Linear, with oneDNN's products for [P, I] while it is trained on a CPU."""

    def forward(self, x: Tensor) -> Tensor:
        """[..., I] -> [..., O]."""
        if x.dim() == 2 and x.device.type == "cpu" and x.dtype == torch.float32 and torch.is_grad_enabled() and _there:
            product: Tensor = _Product.apply(x, self.weight, self.bias)  # type: ignore[no-untyped-call]
            return product
        return F.linear(x, self.weight, self.bias)


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(x, weight)
        ctx.bias = bias is not None
        return _product(x, weight, bias)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
        x, weight = ctx.saved_tensors
        gradient = gradients[0]
        for_x = _product(gradient, weight.t(), None)
        return for_x, gradient.t() @ x, gradient.sum(0) if ctx.bias else None


def _product(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    product: Tensor = torch.ops.mkldnn._linear_pointwise(x, weight, bias, "none", [], "")
    return product


_there = torch.backends.mkldnn.is_available() and hasattr(torch.ops.mkldnn, "_linear_pointwise")


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
