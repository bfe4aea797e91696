"""Models and their training by name, one TOML file each: the paper's own, every row of its Table 3, and smaller ones.

A file says `extends = "base"` and then only what differs. Every key is explained in the file that starts the chain.
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from regard.errors import SettingsError
from regard.settings import nearest, read_toml


class Preset(NamedTuple):
    """The tables of a preset, with everything that it extends."""

    name: str
    tables: dict[str, dict[str, Any]]

    @property
    def model(self) -> dict[str, Any]:
        """The architecture and its sizes."""
        return self.tables["model"]

    @property
    def training(self) -> dict[str, Any]:
        """How it is trained."""
        return self.tables["training"]


def names() -> list[str]:
    """The names of all presets."""
    return sorted(file.name.removesuffix(".toml") for file in files(__name__).iterdir() if file.name.endswith(".toml"))


def load(name: str) -> Preset:
    """The preset in the file of that name."""
    if name not in names():
        raise SettingsError(f"preset {name!r}: there is no such preset; {nearest(name, names())}")
    tables = read_toml(Path(str(files(__name__))) / f"{name}.toml")
    extended = tables.pop("extends", None)
    former = load(extended).tables if extended else {}
    return Preset(name, {key: former.get(key, {}) | tables.get(key, {}) for key in former | tables})
