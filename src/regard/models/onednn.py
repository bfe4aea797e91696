"""Matrix products by oneDNN, through operations of PyTorch that are not public, so they are tried before they are used.

On processors PyTorch computes products in float32 with MKL. In training oneDNN is about a tenth faster, for the product
itself and for the gradient of what goes in; for the gradient of the weights MKL is. For each number of rows oneDNN
makes a kernel, which takes about as long as a small product does. So only multiples of `ROWS` are given to it: there
are few of them, and kernels are found again. Whoever has other numbers of rows fills them up.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

ROWS = 32


def product(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """[..., inputs] -> [..., outputs]: x W^T + b, by oneDNN where that is faster."""
    if x.device.type != "cpu" or not torch.is_grad_enabled() or torch.compiler.is_compiling() or not _fits(x, weight):
        return F.linear(x, weight, bias)
    found: Tensor = _Product.apply(x, weight, bias)  # type: ignore[no-untyped-call]
    return found


def missing(rows: int) -> int:
    """How many more would be a multiple."""
    return -rows % ROWS


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(x, weight)
        return linear(x, weight, bias)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        x, weight = ctx.saved_tensors
        gradient = gradients[0].contiguous()
        for_x, for_weight, for_bias = ctx.needs_input_grad
        return (
            linear(gradient, weight.t(), None) if for_x else None,
            torch.mm(gradient.t(), x) if for_weight else None,
            gradient.sum(0) if for_bias else None,
        )


def _fits(x: Tensor, weight: Tensor) -> bool:
    return x.dim() == 2 and not missing(x.size(0)) and x.dtype == weight.dtype == torch.float32 and can_pack()


@cache
def can_pack() -> bool:
    """Whether this PyTorch has oneDNN, and its product is the product."""
    x, weight, bias = torch.arange(6.0).view(2, 3), torch.arange(12.0).view(4, 3), torch.arange(4.0)
    try:
        found = [linear(x, given, bias) for given in (pack_weight(weight), weight, weight.t().contiguous().t())]
    except (AttributeError, RuntimeError):  # built without it, or for a processor that it does not know
        return False
    return all(torch.equal(one, F.linear(x, weight, bias)) for one in found)


def pack_weight(weight: Tensor) -> Tensor:
    """The weight in the order in which oneDNN reads it."""
    packed: Tensor = torch.ops.mkldnn._reorder_linear_weight(weight.detach())  # noqa: SLF001
    return packed


def linear(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """[..., inputs] -> [..., outputs] for a weight that is packed or not. It has no gradient."""
    found: Tensor = torch.ops.mkldnn._linear_pointwise(x, weight, bias, "none", [], "")  # noqa: SLF001
    return found
