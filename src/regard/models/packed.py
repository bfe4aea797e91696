"""A model for a processor: its weights once more, in the order in which oneDNN reads them.

A product with such a weight is a fifth faster where there are many rows, and several times where there are few, as in
the search for one sentence: nothing is rearranged at each step. The copy is for translating: it has no gradients, and
does not follow when the model's own weights change.
"""

from __future__ import annotations

from copy import deepcopy
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard.models.transformer import Embedding


class PackedLinear(nn.Module):
    """x W^T + b, as nn.Linear computes it."""

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        self.weight, self.bias = linear.weight, linear.bias
        self.packed = _pack(linear.weight)

    def forward(self, x: Tensor) -> Tensor:
        """[..., inputs] -> [..., outputs]."""
        return _product(x, self.packed, self.bias)


class PackedEmbedding(Embedding):
    """The vectors of words, and the logits that they give."""

    def __init__(self, embedding: Embedding) -> None:
        nn.Module.__init__(self)
        self.weight = embedding.weight
        self.packed = _pack(embedding.weight)

    def logits(self, x: Tensor, bias: Tensor | None = None) -> Tensor:
        """[..., D] -> [..., V]."""
        return _product(x, self.packed, bias)


def packed(model: Any) -> Any:
    """The same model with packed weights beside its own; itself, where they would not help or cannot be had."""
    tensors = [*model.parameters(), *model.buffers()]
    if not can_pack() or any(tensor.device.type != "cpu" for tensor in tensors):
        return model
    copy = deepcopy(model, {id(tensor): tensor for tensor in tensors})
    made: dict[int, nn.Module] = {}
    for name, module in list(copy.named_modules(remove_duplicate=False)):
        kind = {nn.Linear: PackedLinear, Embedding: PackedEmbedding}.get(type(module))
        if kind and module.weight.dtype == torch.float32:
            made[id(module)] = made.get(id(module)) or kind(module)
            copy.set_submodule(name, made[id(module)])
    return copy


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
