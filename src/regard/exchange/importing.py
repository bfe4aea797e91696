"""From other programs: a file with an `IMPORT` reads folders of one format.

What comes out is an ordinary model folder, on disk (`import_model`) or in memory (`opened`). A folder is read as if a
stranger had sent it: see `foreign_files.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any, NamedTuple

from regard import exchange, modelfolder, shipped
from regard.errors import ModelFolderError, SettingsError
from regard.modelfolder import DEFAULT_TASK, DESCRIPTION, FORMAT, WEIGHTS, Description, ModelFolder, Stored
from regard.settings import Settings
from regard.version import __version__

if TYPE_CHECKING:
    import torch
    from torch import Tensor


@dataclass(frozen=True, kw_only=True)
class Imported:
    """A model that was read from another program's folder."""

    settings: Settings
    weights: Mapping[str, Tensor]
    tokeniser: Mapping[str, bytes]
    weights_file: Path
    weights_hash: str
    languages: Mapping[str, str] = field(default_factory=dict)
    training: Mapping[str, Any] = field(default_factory=dict)
    scores: Mapping[str, Any] = field(default_factory=dict)
    card: str = ""
    architecture: str = "transformer"
    task: str = DEFAULT_TASK


class Importer(NamedTuple):
    """What an importer's file gives to the room."""

    recognises: Callable[[Path], bool]  # whether a folder looks like one of this format
    read: Callable[[Path], Imported]
    description: str  # for people


def importers() -> dict[str, Importer]:
    """All importers, by the names of their files."""
    modules = {
        module.name: import_module(f"{exchange.__name__}.{module.name}") for module in iter_modules(exchange.__path__)
    }
    return {name: module.IMPORT for name, module in modules.items() if hasattr(module, "IMPORT")}


def is_foreign(model: str | Path) -> bool:
    """Whether this is a folder of another program, and none of Regard."""
    folder = shipped.find(model)
    if not folder.is_dir() or (folder / DESCRIPTION).exists():
        return False
    return any(importer.recognises(folder) for importer in importers().values())


def opened(model: str | Path, *, device: torch.device | str = "cpu") -> ModelFolder:
    """A model folder, or another program's folder as if it were one."""
    if not is_foreign(model):
        return modelfolder.load(model, device=device)
    from regard import storage

    found = _read(Path(model))
    built = storage.filled(found.architecture, found.settings, found.weights, found.weights_file)
    tokeniser = dict(found.tokeniser)
    stored = {
        name: Stored(bytes=len(content), sha256=sha256(content).hexdigest()) for name, content in tokeniser.items()
    }
    stored = {f"{modelfolder.TOKENISER}/{name}": entry for name, entry in stored.items()}
    stored[WEIGHTS] = Stored(bytes=found.weights_file.stat().st_size, sha256=found.weights_hash)
    description = Description(
        format=FORMAT,
        regard=__version__,
        architecture=found.architecture,
        settings=found.settings.table(),
        languages=dict(found.languages),
        training=dict(found.training),
        scores=dict(found.scores),
        task=found.task,
        files=stored,
    )
    return ModelFolder(built.to(device).eval(), description, tokeniser, found.card)


def import_model(folder: Path, out: Path, *, source: str | None = None, target: str | None = None) -> None:
    """Writes another program's folder as the new model folder `out`; `source` and `target` name its languages."""
    from regard import storage

    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise SettingsError(f"{out}: this path already exists.\n  Regard overwrites nothing: choose a new folder.")
    found = _read(folder)
    built = storage.filled(found.architecture, found.settings, found.weights, found.weights_file)
    given = {side: code for side, code in (("source", source), ("target", target)) if code}
    modelfolder.save(
        out,
        built,
        architecture=found.architecture,
        settings=found.settings,
        task=found.task,
        languages={**found.languages, **given},
        training=found.training,
        scores=found.scores,
        tokeniser=found.tokeniser,
        card=found.card,
    )


def _read(folder: Path) -> Imported:
    if not folder.is_dir():
        raise ModelFolderError(f"{folder}: there is no such folder.\n  Give the path of a folder.")
    if (folder / DESCRIPTION).exists():
        raise ModelFolderError(f"{folder}: this is a model folder of Regard.\n  Use it as it is: it needs no import.")
    for importer in importers().values():
        if importer.recognises(folder):
            return importer.read(folder)
    formats = ", ".join(importer.description for importer in importers().values())
    raise ModelFolderError(f"{folder}: Regard does not know the format of this folder.\n  It reads: {formats}.")
