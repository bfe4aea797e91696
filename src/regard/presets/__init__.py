"""Models and their training by name, one TOML file each: the paper's own, every row of its Table 3, and smaller ones;
and the models that it replaced.

A file says `extends = "base"` and then only what differs. Every key is explained in the file that starts the chain.
A `[model]` of another architecture takes nothing over, and explains its own keys.
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from regard.errors import SettingsError
from regard.settings import nearest, read_toml

Tables = dict[str, dict[str, Any]]


class Preset(NamedTuple):
    """The tables of a preset, with everything that it extends."""

    name: str
    tables: Tables

    @property
    def model(self) -> dict[str, Any]:
        """The architecture and its sizes."""
        return self.tables["model"]

    @property
    def training(self) -> dict[str, Any]:
        """How it is trained."""
        return self.tables["training"]

    @property
    def about(self) -> str:
        """What it is for: the first line of its file."""
        return _file(self.name).read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")


def names() -> list[str]:
    """The names of all presets."""
    return sorted(file.name.removesuffix(".toml") for file in files(__name__).iterdir() if file.name.endswith(".toml"))


def load(name: str) -> Preset:
    """The preset in the file of that name."""
    if name not in names():
        raise SettingsError(f"preset {name!r}: there is no such preset; {nearest(name, names())}")
    tables = read_toml(_file(name))
    extended = tables.pop("extends", None)
    return Preset(name, over(load(extended).tables if extended else {}, tables))


def over(former: Tables, tables: Tables) -> Tables:
    """What `former` says, and `tables` after it; but a model of another architecture takes nothing over."""
    architectures = [table.get("model", {}).get("architecture") for table in (tables, former)]
    if architectures[0] not in (None, architectures[1]):
        former = former | {"model": {}}
    return {name: former.get(name, {}) | tables.get(name, {}) for name in former | tables}


def _file(name: str) -> Path:
    return Path(str(files(__name__))) / f"{name}.toml"
