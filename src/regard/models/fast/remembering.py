"""What all layers of a model need of the same tensor, computed once: spans of a mask, angles of positions."""

from __future__ import annotations

from collections.abc import Callable, MutableMapping
from typing import Any

import torch
from torch import Tensor
from torch.utils.weak import WeakTensorKeyDictionary

from regard.models.parts.positions import Rotation


class Remembered:
    """Results for tensors, kept as long as the tensors live. Compiled code finds repetitions by itself."""

    def __init__(self) -> None:
        self._known: MutableMapping[Tensor, Any] = WeakTensorKeyDictionary()

    def get(self, tensor: Tensor, compute: Callable[[Tensor], Any]) -> Any:
        """`compute(tensor)`, once."""
        if torch.compiler.is_compiling():
            return compute(tensor)
        if tensor not in self._known:
            self._known[tensor] = compute(tensor)
        return self._known[tensor]

    def __deepcopy__(self, _: dict[int, Any]) -> Remembered:
        return Remembered()


class RememberingRotation(Rotation):
    """Rotary positions whose angles are computed once for all layers that are given the same positions."""

    def angles(self, positions: Tensor) -> tuple[Tensor, Tensor]:
        """[...] -> [..., K / 2] cosines and sines, in float32."""
        key = self.width, self.base
        found: dict[tuple[int, float], tuple[Tensor, Tensor]] = _ANGLES.get(positions, lambda _: {})
        if key not in found:
            found[key] = super().angles(positions)
        return found[key]


_ANGLES = Remembered()
