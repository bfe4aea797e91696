"""The same model, faster: modules of a plain model are replaced by others with the same parameters.

`fast_form` gives the form of a model for its device and a purpose. It shares all parameters with the plain model,
under the same names, so that training one trains the other. What has no faster form stays as it is: an architecture of
its own parts runs plainly, and one made of the Transformer's parts gets what they get.

tests/equivalence holds every form against the plain model.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any, Literal, TypeVar

from torch import nn

from regard.models.fast import cpu, gpu, packing
from regard.models.fast.in_place import in_place

__all__ = ["fast_form", "in_place"]

ModelT = TypeVar("ModelT")

Purpose = Literal["training", "decoding"]


def fast_form(model: ModelT, purpose: Purpose) -> ModelT:
    """The fast form of a model on the device where its parameters are."""
    module: Any = model
    if next(module.parameters()).device.type == "cuda":
        return _with(module, gpu.FORMS)
    if purpose == "training":
        return cpu.without_padding(_with(module, cpu.FORMS))
    return _with(module, {**cpu.FORMS, **packing.FORMS} if packing.can_pack() else cpu.FORMS)


def _with(model: Any, forms: Mapping[type[nn.Module], type[nn.Module]]) -> Any:
    """A model of the same parameters, whose modules are those of `forms`; a form is a subclass of what it replaces."""
    tensors = [*model.parameters(), *model.buffers()]
    twin = deepcopy(model, {id(tensor): tensor for tensor in tensors})
    for module in twin.modules():
        if form := forms.get(type(module)):
            module.__class__ = form
            if hasattr(form, "prepare"):  # a form that keeps tables or packed weights
                module.prepare(tensors[0].device)
    return twin
