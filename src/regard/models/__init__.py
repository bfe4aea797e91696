"""Tensors to logits: the architectures, one file each. A file with an `ARCHITECTURE` is one, under the file's name."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any

from regard.errors import SettingsError
from regard.settings import Settings, nearest

if TYPE_CHECKING:
    from torch import Tensor

    from regard.models.protocols import Architecture, Model, Module

__all__ = ["architecture", "architectures", "build", "longest", "named_by", "read_settings", "sized", "tensors"]


def architectures() -> list[str]:
    """The names of all architectures."""
    modules = (module.name for module in iter_modules(__path__))
    return [name for name in modules if hasattr(import_module(f"{__name__}.{name}"), "ARCHITECTURE")]


def architecture(name: str) -> Architecture:
    """The architecture in the file of that name."""
    from regard.models.protocols import Architecture

    if name not in architectures():
        raise SettingsError(f"architecture = {name!r}: there is no such architecture; {nearest(name, architectures())}")
    found = import_module(f"{__name__}.{name}").ARCHITECTURE
    assert isinstance(found, Architecture)
    return found


def longest(name: str, table: Mapping[str, Any]) -> int | None:
    """The most tokens that a sentence of a model with these settings may have; None where there is no limit.

    Settings that have a file of their own, such as `parts/transformer_settings.py`, are read without PyTorch.
    """
    alone = f"{__name__}.parts.{name}_settings"
    if name.isidentifier() and find_spec(alone):
        module = import_module(alone)
        limit: int | None = module.longest_sentence(module.SETTINGS.read(table, where="model"))
        return limit
    found = architecture(name)
    return found.longest(found.settings.read(table, where="model"))


def named_by(table: Mapping[str, Any]) -> Architecture:
    """The architecture that a `[model]` table names."""
    return architecture(table.get("architecture", "transformer"))


def sized(table: Mapping[str, Any], vocabularies: Mapping[str, int], *, separate: bool = False) -> dict[str, Any]:
    """A `[model]` table with the size of the vocabulary of each stream; `separate` ones share no embeddings."""
    kind = named_by(table)
    sizes = {key: vocabularies[stream] for stream, key in kind.vocabularies.items()}
    return {**(kind.separated(table) if separate else table), **sizes}


def read_settings(table: Mapping[str, Any], *, where: str) -> Settings:
    """The checked settings of a `[model]` table, whose key `architecture` says of what kind they are."""
    others = {key: value for key, value in table.items() if key != "architecture"}
    return named_by(table).settings.read(others, where=where)


def tensors(model: Module) -> dict[str, Tensor]:
    """What is stored of a model: each parameter and each persistent buffer once, under its first name."""
    kept = model.state_dict().keys()
    buffers = {name: buffer for name, buffer in model.named_buffers() if name in kept}
    return {**dict(model.named_parameters()), **buffers}


def build(name: str, settings: Settings) -> Model[Any, Any]:
    """A new model with random weights."""
    return architecture(name).build(settings)
