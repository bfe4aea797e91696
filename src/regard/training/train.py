"""`train(...)` takes what the command takes, checks all of it, and starts a run or goes on with one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from threading import Event as Flag
from typing import Any, NamedTuple

import torch

from regard import presets, tasks
from regard.devices import device_for
from regard.errors import TrainingError
from regard.modelfolder import DEFAULT_TASK
from regard.text.pairs import Columns
from regard.training.adapting import own_tables
from regard.training.advice import warnings
from regard.training.command import command_line, tables_of
from regard.training.distribution import own_card, processes, restartable
from regard.training.events import Event, Journal, View
from regard.training.finish import METRICS
from regard.training.held_out import TEXTS
from regard.training.lock import locked
from regard.training.recipe import Recipe, Tables, merged, parsed, put_together, read_file, with_paths
from regard.training.resuming import (
    changed,
    choices_of,
    clear,
    has_begun,
    has_restarted,
    stored,
    write_preset,
    write_recipe,
)
from regard.training.run import run
from regard.training.surroundings import Surroundings
from regard.training.tasks import work
from regard.training.training_settings import TrainingSettings

Watch = Callable[[TrainingSettings], AbstractContextManager[View]]
"""Makes the view of a run, once its settings are known."""


def train(
    *data: str | Path,
    out: str | Path,
    source: str | None = None,
    target: str | None = None,
    preset: str = "auto",
    recipe: str | Path | None = None,
    settings: Sequence[str] = (),
    valid: str | Path | None = None,
    format: str | None = None,  # noqa: A002
    columns: Columns | None = None,
    encoding: str | None = None,
    skip_bad: bool = False,
    from_model: str | Path | None = None,
    task: str | None = None,
    documents: str | None = None,
    old: Sequence[str | Path] = (),
    steps: int | None = None,
    minutes: float | None = None,
    checkpoint_every: int | None = None,
    seed: int | None = None,
    device: str | None = None,
    resume: bool = False,
    changed_data: bool = False,
    view: Watch | None = None,
    also_tell: Callable[[Event], None] | None = None,
    stop: Flag | None = None,
) -> bool:
    """Trains a model on sentence pairs, or on other text for another task.

    True when `out` is a finished model folder, False where `stop` was set before.

    docs/training.md explains each parameter; they are the options of `regard train`.
    """
    options = {
        "--task": task,
        "--documents": documents,
        "--source": source,
        "--target": target,
        "--out": out,
        "--preset": None if preset == "auto" else preset,
        "--recipe": recipe,
        "--set": list(settings),
        "--valid": valid,
        "--from": from_model,
        "--old": list(old),
        "--format": format,
        "--columns": columns,
        "--encoding": encoding,
        "--skip-bad": skip_bad,
        "--steps": steps,
        "--minutes": minutes,
        "--checkpoint-every": checkpoint_every,
        "--seed": seed,
        "--device": device,
        "--resume": resume,
        "--changed-data": changed_data,
    }
    call = _Call(data, options, preset, recipe, settings, goes_on=resume or restartable(), changed_data=changed_data)
    return _answered(call, Path(out), own_card(device_for(device)), view, also_tell, stop or Flag())


class _Call(NamedTuple):
    """What was asked for."""

    data: Sequence[str | Path]
    options: Mapping[str, Any]  # of the command line
    preset: str
    recipe: str | Path | None
    settings: Sequence[str]
    goes_on: bool
    changed_data: bool


def _answered(
    call: _Call,
    folder: Path,
    device: torch.device,
    view: Watch | None,
    also_tell: Callable[[Event], None] | None,
    stop: Flag,
) -> bool:
    with processes(device) as team, locked(folder / "training") if team.first else nullcontext():
        asked = tables_of(call.data, call.options)
        goes_on = team.share(call.goes_on)
        found = None
        if team.first:
            found = _recipe(folder, asked, call.preset, call.recipe, call.settings, goes_on, device=device)
        checked, reasons = team.share(found)
        with view(checked.training) if view and team.first else nullcontext() as watching:
            journal = Journal(folder / METRICS, watching, also_tell) if team.first else Journal(None, None)
            for sentence in (*reasons, *warnings(checked.training)):
                journal.say(sentence)
            around = Surroundings(folder, device, team, journal, stop, command_line(call.data, call.options))
            return run(checked, around, reasons=reasons, resume=goes_on, changed_data=call.changed_data)


def _recipe(
    folder: Path,
    options: Tables,
    preset: str,
    recipe: str | Path | None,
    settings: Sequence[str],
    goes_on: bool,
    *,
    device: torch.device | None = None,
) -> tuple[Recipe, list[str]]:
    """The recipe of the run that goes on, or that of a new one, and the reasons for it; it is stored."""
    inside, begun = folder / "training", has_begun(folder)
    if begun and not goes_on:
        raise TrainingError(
            f"{folder}: this folder already contains a training run.\n"
            "  Continue it with --resume, or choose another --out."
        )
    named, tables = read_file(Path(recipe)) if recipe else (None, {})
    from_options, malformed = parsed(settings)
    given = merged(with_paths(tables, options["data"]), from_options, options)
    named = named if preset == "auto" else preset
    if begun:
        return changed(inside, given, named, malformed), []
    kept = {}
    if goes_on and ("files" not in given["data"] or has_restarted(inside)):  # the stored settings may be safer ones
        kept = choices_of(inside)
        named, given = stored(inside, given, named)
    preset, checked, reasons = _new(given, named, where=recipe, malformed=malformed, device=device)
    clear(folder, METRICS, f"training/{TEXTS}")
    write_recipe(inside, checked)
    own = None if named or checked.data.adapt else merged(tables, from_options, options)
    write_preset(inside, preset, given=own, kept=kept)
    return checked, reasons


def _new(
    given: Tables,
    preset: str | None,
    *,
    where: str | Path | None,
    malformed: Sequence[str],
    device: torch.device | None,
) -> tuple[str, Recipe, list[str]]:
    """The preset and the recipe of a new run, and the reasons for what was chosen."""
    found = work(given.get("data", {}).get("task", DEFAULT_TASK))
    found.check(given.get("data", {}))
    where = str(where or f"preset {preset or 'auto'!r} and options")
    own = own_tables(given["data"]["adapt"], given, task=found.task) if given["data"].get("adapt") else {}
    first = presets.load(preset or tasks.task(found.task).preset or "base").tables
    if preset is None:
        first = first | {"tokeniser": {}}  # another kind may be chosen, with other options
    given = _with_own_options(given, presets.load(preset).tables if preset else first)
    checked = put_together([first, own, given], where=where, malformed=malformed)  # before the corpus is read
    preset, chosen, reasons = (
        found.advise(checked.data, given.get("training", {}), device or device_for(None))
        if preset is None
        else found.fit(preset, given, checked)
    )
    return preset, put_together([presets.load(preset).tables, chosen, own, given], where=where), reasons


def _with_own_options(given: Tables, preset: Tables) -> Tables:
    """Another kind of tokeniser than the preset's does not have its options."""
    asked, kind = given.get("tokeniser", {}), preset.get("tokeniser", {}).get("kind", "subwords")
    if asked.get("kind", kind) == kind or "options" in asked:
        return given
    return given | {"tokeniser": {**asked, "options": {}}}
