"""Weights of a model that decodes on a CPU, in the order in which oneDNN reads them.

A product with such a weight is a fifth faster with many rows, and several times faster with few, as in the search for
one sentence: nothing is rearranged at each step. Where gradients are needed, or the numbers are not float32 on a CPU,
the product is the ordinary one. A weight that has changed is packed again.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard.models.transformer import Embedding


class Packed:
    """A weight in oneDNN's order, packed again when the weight has changed."""

    def __init__(self) -> None:
        self._packed: Tensor | None = None
        self._of: tuple[int, int] | None = None

    def product(self, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        """[..., inputs] -> [..., outputs]: x W^T + b."""
        if torch.is_grad_enabled() or x.device.type != "cpu" or not x.dtype == weight.dtype == torch.float32:
            return F.linear(x, weight, bias)
        now = weight.data_ptr(), weight._version  # noqa: SLF001
        if self._packed is None or self._of != now:
            self._packed, self._of = _pack(weight), now
        return _product(x, self._packed, bias)

    def __deepcopy__(self, _: dict[int, Any]) -> Packed:
        return Packed()  # what is packed cannot be copied


class PackedLinear(nn.Linear):
    """x W^T + b, as nn.Linear computes it."""

    packed: Packed

    def prepare(self, device: torch.device) -> None:  # noqa: ARG002  a CPU
        """Packs at the first product."""
        self.packed = Packed()

    def forward(self, x: Tensor) -> Tensor:
        """[..., inputs] -> [..., outputs]."""
        return self.packed.product(x, self.weight, self.bias)


class PackedEmbedding(Embedding):
    """The vectors of tokens, and the logits that they give."""

    packed: Packed

    def prepare(self, device: torch.device) -> None:  # noqa: ARG002  a CPU
        """Packs at the first product."""
        self.packed = Packed()

    def logits(self, x: Tensor, bias: Tensor | None = None) -> Tensor:
        """[..., D] -> [..., V]."""
        return self.packed.product(x, self.weight, bias)


FORMS: dict[type[nn.Module], type[nn.Module]] = {nn.Linear: PackedLinear, Embedding: PackedEmbedding}


@cache
def can_pack() -> bool:
    """Whether this PyTorch has oneDNN, and its product is the product."""
    x, weight, bias = torch.arange(6.0).view(2, 3), torch.arange(12.0).view(4, 3), torch.arange(4.0)
    try:
        return torch.equal(_product(x, _pack(weight), bias), F.linear(x, weight, bias))
    except (AttributeError, RuntimeError):  # built without it, or for a processor that it does not know
        return False


def _pack(weight: Tensor) -> Tensor:
    found: Tensor = torch.ops.mkldnn._reorder_linear_weight(weight.detach())  # noqa: SLF001
    return found


def _product(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    found: Tensor = torch.ops.mkldnn._linear_pointwise(x, weight, bias, "none", [], "")  # noqa: SLF001
    return found
