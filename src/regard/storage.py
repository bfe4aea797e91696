"""How weights are stored: as they are, in half precision, or in eight bits. They are computed with in float32 again.

float32     four bytes a weight
float16     two; eleven significant bits
bfloat16    two; eight significant bits, the range of float32
int8        one: a matrix is whole numbers from -127 to 127, and each of its rows has a scale in float32, under the
            matrix's name and `.scale`; what is no matrix is stored as float16
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from regard.errors import SettingsError
from regard.settings import nearest

KINDS = ("float32", "float16", "bfloat16", "int8")

_SCALE = ".scale"
_LARGEST = 127


def packed(weights: Mapping[str, Tensor], kind: str) -> dict[str, Tensor]:
    """The tensors to store for these weights."""
    if kind not in KINDS:
        raise SettingsError(f"stored_as = {kind!r}: this type is not supported; {nearest(kind, KINDS)}")
    if kind != "int8":
        return {name: _converted(name, weight, getattr(torch, kind)) for name, weight in weights.items()}
    stored: dict[str, Tensor] = {}
    for name, weight in weights.items():
        if weight.dim() != 2:
            stored[name] = _converted(name, weight, torch.float16)
            continue
        scale = (weight.float().abs().amax(1, keepdim=True) / _LARGEST).clamp(min=torch.finfo(torch.float32).tiny)
        stored[name] = (weight.float() / scale).round().to(torch.int8)
        stored[name + _SCALE] = scale
    return stored


def unpacked(stored: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The weights that were stored, ready to be copied into a model."""
    scales = {name + _SCALE for name, tensor in stored.items() if tensor.dtype == torch.int8}
    return {
        name: tensor.float() * stored[name + _SCALE] if name + _SCALE in scales & stored.keys() else tensor
        for name, tensor in stored.items()
        if name not in scales
    }


def _converted(name: str, weight: Tensor, dtype: torch.dtype) -> Tensor:
    converted = weight.to(dtype)
    if weight.isfinite().all() and not converted.isfinite().all():
        raise SettingsError(f"{name}: its weights are too large for {dtype}.\n  Store them as bfloat16 or float32.")
    return converted
