"""Checkpoints: everything that going on exactly takes, written whole, checked by hash, never unpickled.

checkpoints/
    step-00001000/                  written when it was time to; the mean of the last few is the final model
        checkpoint.json             how far training has come, and the hash of each file below
        weights.safetensors         the parameters
        optimiser.safetensors       Adam's two moments of each; only the newest checkpoints keep it
    stop-00001234/                  the same, written when a run was stopped; gone when the next one is written
    best/                           the best weights so far (merit.py)

Randomness needs no place here: it is a function of the seed and the step.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field
from safetensors.torch import load_file, save_file
from torch import Tensor

from regard.errors import CheckpointError, SettingsError
from regard.files import new_folder, put_back, remove_folder
from regard.settings import Settings
from regard.training.plan import Plan

DESCRIPTION = "checkpoint.json"
WEIGHTS = "weights.safetensors"
OPTIMISER = "optimiser.safetensors"
BEST = "best"
_WITH_OPTIMISER = 2  # so many of the newest can be gone on from

Tensors = dict[str, Tensor]
Say = Callable[[str], None]


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
    best_loss: float | None = None  # the lowest of all validations
    best_worth: float | None = None  # the most that the source was worth in one of them
    waited: int = 0  # validations since the run last became better
    losses: Annotated[tuple[float, ...], Field(strict=False)] = ()  # the last few of validation
    warned: bool = False  # that the model ignores its source
    plan: Plan | None = None  # a schedule other than that of the settings


class _Description(Settings):
    progress: Progress
    files: dict[str, str] = Field(default_factory=dict)  # SHA-256 of each


class Checkpoints:
    """The checkpoints of one run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def save(self, progress: Progress, weights: Tensors, optimiser: Tensors, *, stopped: bool = False) -> Path:
        """Writes a checkpoint; it is there whole, or not at all."""
        kind = "stop" if stopped else "step"
        place = self.folder / f"{kind}-{progress.step:08d}"
        _write(place, progress, {WEIGHTS: weights, OPTIMISER: optimiser})
        return place

    def save_best(self, progress: Progress, weights: Tensors, optimiser: Tensors | None = None) -> None:
        """Writes the weights that are the best so far, and what going on from them takes."""
        _write(self.folder / BEST, progress, {WEIGHTS: weights} | ({OPTIMISER: optimiser} if optimiser else {}))

    def best_to_go_on_from(self, say: Say) -> tuple[Progress, Tensors, Tensors] | None:
        """The best weights and Adam's moments then, if both were kept."""
        place = put_back(self.folder / BEST)
        if not (place / OPTIMISER).is_file():
            return None
        try:
            progress = _checked(place, (WEIGHTS, OPTIMISER))
        except CheckpointError as error:
            say(str(error))
            return None
        return progress, load_file(place / WEIGHTS), load_file(place / OPTIMISER)

    def forget_after(self, step: int) -> None:
        """Deletes the checkpoints of later steps, the latest first, since training goes on from this one."""
        for place in reversed(self._places("step-*", "stop-*")):
            if int(place.name.partition("-")[2]) > step:
                shutil.rmtree(place)

    def discard(self) -> None:
        """Deletes everything, at once and then from the disk: the run starts again."""
        remove_folder(self.folder)

    def newest(self, say: Say) -> tuple[Progress, Tensors, Tensors] | None:
        """The newest checkpoint that is whole; damaged ones are skipped and reported to `say`."""
        for place in reversed(self._places("step-*", "stop-*")):
            if (place / DESCRIPTION).is_file() and not (place / OPTIMISER).is_file():
                continue
            try:
                progress = _checked(place, (WEIGHTS, OPTIMISER))
            except CheckpointError as error:
                say(f"{error}\n  Regard resumes from the checkpoint before it.")
                continue
            return progress, load_file(place / WEIGHTS), load_file(place / OPTIMISER)
        return None

    def last(self, count: int, say: Say, *, since: int = 0) -> list[Path]:
        """The weights of the newest `count` regular checkpoints that are whole, the oldest first, `since` a step."""
        found: list[Path] = []
        for place in reversed(self._places("step-*")):
            if int(place.name.partition("-")[2]) < since:
                break
            try:
                _checked(place, (WEIGHTS,))
            except CheckpointError as error:
                say(f"{error}\n  The averaged weights leave it out.")
                continue
            found.insert(0, place / WEIGHTS)
            if len(found) == count:
                break
        return found

    def best(self, say: Say) -> tuple[Progress, Path] | None:
        """The best weights, if they are there and whole."""
        place = put_back(self.folder / BEST)
        try:
            return _checked(place, (WEIGHTS,)), place / WEIGHTS
        except CheckpointError as error:
            say(f"{error}\n  So there is no best model.")
            return None

    def prune(self, *, keep: int) -> None:
        """Deletes regular checkpoints but the newest `keep`, those of stops but the newest, optimisers but two."""
        regular = self._places("step-*")
        for place in regular[: max(0, len(regular) - keep)]:
            shutil.rmtree(place)
        everything = self._places("step-*", "stop-*")
        for place in everything[:-1]:
            if place.name.startswith("stop-"):
                shutil.rmtree(place)
        for place in self._places("step-*")[:-_WITH_OPTIMISER]:
            (place / OPTIMISER).unlink(missing_ok=True)

    def _places(self, *patterns: str) -> list[Path]:
        """The folders of checkpoints, the oldest first."""
        places = (place for pattern in patterns for place in self.folder.glob(pattern))
        return sorted(places, key=lambda place: place.name.partition("-")[2])


def _write(place: Path, progress: Progress, tensors: Mapping[str, Tensors]) -> None:
    with new_folder(place) as new:
        for name, content in tensors.items():
            save_file(content, new / name)
        hashes = {name: _sha256(new / name) for name in tensors}
        table = _Description(progress=progress, files=hashes).table()
        (new / DESCRIPTION).write_text(json.dumps(table, indent=2) + "\n", encoding="utf-8")


def _checked(place: Path, names: Sequence[str]) -> Progress:
    """What a checkpoint says of itself, once its files are found to be as they were written."""
    try:
        table: Any = json.loads((place / DESCRIPTION).read_bytes())
        description = _Description.read(table, where=str(place / DESCRIPTION))
    except (OSError, ValueError, TypeError, SettingsError):
        raise CheckpointError(f"{place / DESCRIPTION}: this checkpoint is damaged: the file cannot be read.") from None
    for name in names:
        if not (place / name).is_file():
            raise CheckpointError(f"{place / name}: this checkpoint is damaged: the file is missing.")
        if _sha256(place / name) != description.files.get(name):
            raise CheckpointError(f"{place / name}: this checkpoint is damaged: the hash of the file differs.")
    return description.progress


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
