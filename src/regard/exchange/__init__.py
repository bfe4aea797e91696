"""To other programs: a file with an `EXPORT` is an exporter, under the file's name."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import NamedTuple

from regard import modelfolder
from regard.errors import ModelFolderError, SettingsError
from regard.modelfolder import ModelFolder
from regard.settings import nearest


class Exporter(NamedTuple):
    """What an exporter's file gives to the room."""

    write: Callable[[ModelFolder, Path, str], None]  # the model, a new folder, and how its weights are stored
    quantizations: tuple[str, ...]  # the ways to store weights, the default first


def exporters() -> list[str]:
    """The names of all exporters."""
    modules = (module.name for module in iter_modules(__path__))
    return [name for name in modules if hasattr(import_module(f"{__name__}.{name}"), "EXPORT")]


def export(model: str | Path, out: Path, *, to: str, quantization: str | None = None) -> None:
    """Writes a model, by its folder or its shipped name, as the new folder `out` that another program reads."""
    if to not in exporters():
        raise SettingsError(f"to = {to!r}: there is no such exporter; {nearest(to, exporters())}")
    exporter: Exporter = import_module(f"{__name__}.{to}").EXPORT
    chosen = quantization or exporter.quantizations[0]
    if chosen not in exporter.quantizations:
        raise SettingsError(
            f"quantization = {chosen!r}: {to} does not support it; {nearest(chosen, exporter.quantizations)}"
        )
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise SettingsError(f"{out}: this path already exists.\n  Regard overwrites nothing: choose a new folder.")
    loaded = modelfolder.load(model)
    try:
        exporter.write(loaded, out, chosen)
    except OSError as error:
        raise ModelFolderError(
            f"{out}: Regard cannot write this folder: {error.strerror}.\n"
            "  Free some disk space, or choose another folder. Regard has removed the unfinished export."
        ) from None
