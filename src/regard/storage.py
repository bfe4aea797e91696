"""How weights are stored: as they are, in half precision, or in eight bits; and models that are filled with them.

float32     four bytes a weight
float16     two; eleven significant bits
bfloat16    two; eight significant bits, the range of float32
int8        one: a matrix is whole numbers from -127 to 127, and each of its rows has a scale in float32, under the
            matrix's name and `.scale`; what is no matrix is stored as float16

Models compute with them in float32 again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors
from torch import Tensor
from torch.overrides import TorchFunctionMode

from regard import models
from regard.errors import ModelFolderError, SettingsError
from regard.files import COPY_AGAIN
from regard.models.protocols import Model
from regard.settings import Settings, nearest

KINDS = ("float32", "float16", "bfloat16", "int8")

_SCALE = ".scale"
_LARGEST = 127
_MAKERS = (torch.empty, torch.zeros, torch.ones, torch.full, torch.rand, torch.randn)
_SPARE, _SPARE_TIMES = 1 << 20, 2  # numbers that building a model may make beside its weights: shared and passing ones


def written(model: Model[Any, Any], kind: str) -> bytes:
    """The safetensors file of a model: each parameter and buffer once, under its first name, however often shared."""
    weights = {name: tensor.detach().cpu().contiguous() for name, tensor in models.tensors(model).items()}
    return save_tensors(packed(weights, kind))


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


def read(content: bytes, path: Path) -> dict[str, Tensor]:
    """The weights in a safetensors file, which was read from `path`."""
    try:
        return unpacked(load_tensors(content))
    except SafetensorError as error:
        raise ModelFolderError(f"{path}: this is not a safetensors file: {error}.\n  {COPY_AGAIN}") from None


def filled(architecture: str, settings: Settings, weights: Mapping[str, Tensor], path: Path) -> Model[Any, Any]:
    """A model with these weights, which were read from `path`; the settings must fit them exactly."""
    with _NoLargerThan(weights, path):
        built = models.build(architecture, settings)
    _fill(built, weights, path)
    return built


class _NoLargerThan(TorchFunctionMode):
    """While a model is built, refuses to make many more numbers than its weights have, before memory is asked for.

    So a damaged or malicious regard.json cannot exhaust the memory. `_fill` then compares the shapes exactly; building
    on the device `meta` would compare them first, but loads the half of PyTorch that belongs to its compiler.
    """

    def __init__(self, weights: Mapping[str, Tensor], path: Path) -> None:
        super().__init__()
        self._stored, self._path = sum(weight.numel() for weight in weights.values()), path
        self._left = _SPARE + _SPARE_TIMES * self._stored

    def __torch_function__(
        self, function: Any, _: Any, arguments: tuple[Any, ...] = (), options: Mapping[str, Any] | None = None
    ) -> Any:
        options = options or {}
        if function in _MAKERS:
            size = options.get("size", arguments[0] if arguments and isinstance(arguments[0], Sequence) else arguments)
            self._left -= prod(size)
        if self._left < 0:
            raise ModelFolderError(
                f"{self._path}: the weights do not fit the settings in regard.json: {self._stored:,} numbers are"
                f" stored, and the settings describe a model of far more.\n  {COPY_AGAIN}"
            )
        return function(*arguments, **options)


def _fill(model: Model[Any, Any], weights: Mapping[str, Tensor], path: Path) -> None:
    """Copies the weights into the model: the same names, the same shapes, nothing missing, nothing left."""
    parameters = models.tensors(model)
    problems = [f"{name} is missing" for name in parameters.keys() - weights.keys()]
    problems += [f"{name} is not part of this architecture" for name in weights.keys() - parameters.keys()]
    problems += [
        f"{name} is {list(weights[name].shape)} and should be {list(parameter.shape)}"
        for name, parameter in parameters.items()
        if name in weights and weights[name].shape != parameter.shape
    ]
    if problems:
        listed = "\n".join(f"  {problem}" for problem in sorted(problems)[:10])
        raise ModelFolderError(f"{path}: the weights do not fit the settings in regard.json:\n{listed}\n  {COPY_AGAIN}")
    with torch.no_grad():
        for name, parameter in parameters.items():
            parameter.copy_(weights[name])
