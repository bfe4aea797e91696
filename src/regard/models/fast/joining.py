"""Several linear maps of the same input as one product: larger products are faster on a GPU."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class Joined:
    """The weights of some maps side by side, for decoding.

    They are copied at every product that is not captured, always to the same place: weights may have changed, even by
    work that was captured itself, and captured products read this place.
    """

    def __init__(self) -> None:
        self._weight: Tensor | None = None
        self._bias: Tensor | None = None

    def product(self, x: Tensor, maps: Sequence[nn.Linear]) -> Tensor:
        """[..., D] -> [..., the sum of all widths]."""
        if self._weight is None or not (x.is_cuda and torch.cuda.is_current_stream_capturing()):
            self._weight = _side_by_side([each.weight for each in maps], self._weight)
            biases = [each.bias for each in maps if each.bias is not None]
            self._bias = _side_by_side(biases, self._bias) if biases else None
        return F.linear(x, self._weight, self._bias)

    def __deepcopy__(self, _: dict[int, object]) -> Joined:
        return Joined()


@torch.no_grad()
def _side_by_side(tensors: Sequence[Tensor], there: Tensor | None) -> Tensor:
    """All of them in one tensor: the one that is there, if it has their form."""
    first, rows = tensors[0], sum(len(tensor) for tensor in tensors)
    shape = (rows, *first.shape[1:])
    if there is None or (there.shape, there.dtype, there.device) != (shape, first.dtype, first.device):
        there = first.new_empty(shape)
    torch.cat(list(tensors), out=there)
    return there
