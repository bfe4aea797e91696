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
    model: dict[str, Any]
    training: dict[str, Any]


def names() -> list[str]:
    """The names of all presets."""
    return sorted(file.name.removesuffix(".toml") for file in files(__name__).iterdir() if file.name.endswith(".toml"))


def load(name: str) -> Preset:
    """The preset in the file of that name."""
    if name not in names():
        raise SettingsError(f"preset {name!r}: there is no such preset; {nearest(name, names())}")
    tables = read_toml(Path(str(files(__name__))) / f"{name}.toml")
    former = load(tables["extends"]) if "extends" in tables else Preset(name, {}, {})
    return Preset(name, former.model | tables.get("model", {}), former.training | tables.get("training", {}))
