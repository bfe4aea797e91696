"""Checkpoints: everything that going on exactly takes, written whole, checked by hash, never unpickled.

checkpoints/step-00001000/
    checkpoint.json             how far training has come, and the size and hash of each file below
    weights.safetensors         the parameters
    optimiser.safetensors       Adam's two moments of each; only the newest checkpoints keep it

Randomness needs no place here: it is a function of the seed and the step.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pydantic import Field
from safetensors.torch import load_file, save_file
from torch import Tensor

from regard.errors import CheckpointError, SettingsError
from regard.settings import Settings

DESCRIPTION = "checkpoint.json"
WEIGHTS = "weights.safetensors"
OPTIMISER = "optimiser.safetensors"
_WITH_OPTIMISER = 2  # so many of the newest can be gone on from

Tensors = dict[str, Tensor]


class Progress(Settings):
    """How far training has come."""

    step: int = 0
    epoch: int = 0
    pool: int = 0
    batch: int = 0
    seconds: float = 0.0
    tokens: int = 0  # target tokens seen
    skipped: int = 0  # steps without an update, since something was not a number
    rate_factor: float = 1.0  # lowered after trouble
    best_step: int | None = None
    best_loss: float | None = None
    waited: int = 0  # validations since the best one


class _Description(Settings):
    progress: Progress
    files: dict[str, str] = Field(default_factory=dict)  # SHA-256 of each


class Checkpoints:
    """The checkpoints of one run, the newest last."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def save(self, progress: Progress, weights: Tensors, optimiser: Tensors) -> Path:
        """Writes a checkpoint; it is there whole, or not at all."""
        place = self.folder / f"step-{progress.step:08d}"
        partial = self.folder / f".step-{progress.step:08d}.partial"
        shutil.rmtree(partial, ignore_errors=True)
        try:
            partial.mkdir(parents=True)
            save_file(weights, partial / WEIGHTS)
            save_file(optimiser, partial / OPTIMISER)
            hashes = {name: _sha256(partial / name) for name in (WEIGHTS, OPTIMISER)}
            table = _Description(progress=progress, files=hashes).table()
            (partial / DESCRIPTION).write_text(json.dumps(table, indent=2) + "\n", encoding="utf-8")
            for file in partial.iterdir():
                with file.open("rb") as written:
                    os.fsync(written.fileno())
            shutil.rmtree(place, ignore_errors=True)
            partial.replace(place)
        except BaseException:
            shutil.rmtree(partial, ignore_errors=True)
            raise
        return place

    def all(self) -> list[Path]:
        """The folders of all checkpoints, the oldest first."""
        return sorted(self.folder.glob("step-*"))

    def newest(self, say: Callable[[str], None]) -> tuple[Progress, Tensors, Tensors] | None:
        """The newest checkpoint that is whole; `say` is told about damaged ones, which are passed over."""
        for place in reversed(self.all()):
            if not (place / OPTIMISER).is_file() and (place / DESCRIPTION).is_file():
                continue
            try:
                progress = _checked(place, (WEIGHTS, OPTIMISER))
            except CheckpointError as error:
                say(f"{error}\n  Going on from the one before.")
                continue
            return progress, load_file(place / WEIGHTS), load_file(place / OPTIMISER)
        return None

    def weights(self, count: int, say: Callable[[str], None]) -> list[Path]:
        """The weights of the newest `count` checkpoints that are whole, the oldest first."""
        found: list[Path] = []
        for place in reversed(self.all()):
            try:
                _checked(place, (WEIGHTS,))
            except CheckpointError as error:
                say(f"{error}\n  It is left out of the mean.")
                continue
            found.insert(0, place / WEIGHTS)
            if len(found) == count:
                break
        return found

    def prune(self, *, keep: int, best: int | None) -> None:
        """Deletes what is not needed: older than the newest `keep`, except the best; optimisers but the newest two."""
        places = self.all()
        for place in places[: max(0, len(places) - keep)]:
            if place.name != f"step-{best:08d}" if best is not None else True:
                shutil.rmtree(place)
        for place in self.all()[:-_WITH_OPTIMISER]:
            (place / OPTIMISER).unlink(missing_ok=True)


def _checked(place: Path, names: Sequence[str]) -> Progress:
    """What a checkpoint says of itself, once its files are found to be as they were written."""
    try:
        table: Any = json.loads((place / DESCRIPTION).read_bytes())
        description = _Description.read(table, where=str(place / DESCRIPTION))
    except (OSError, ValueError, TypeError, SettingsError):
        raise CheckpointError(f"{place / DESCRIPTION}: this checkpoint is damaged: it cannot be read.") from None
    for name in names:
        if not (place / name).is_file():
            raise CheckpointError(f"{place / name}: this checkpoint is damaged: the file is missing.")
        if _sha256(place / name) != description.files.get(name):
            raise CheckpointError(f"{place / name}: this checkpoint is damaged: its hash is not the one it had.")
    return description.progress


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
