"""`train(...)` takes what the command takes, checks all of it, and starts a run or goes on with one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from threading import Event as Flag
from typing import Any

import torch

from regard import presets
from regard.batches.gathering import Gathered, gathered
from regard.batches.preparation import Source
from regard.caches import cache_folder
from regard.devices import device_for
from regard.errors import SettingsError, TrainingError
from regard.text.pairs import Columns, Languages
from regard.training.adapting import own_tables
from regard.training.advice import Budget, advise, suitable_vocabulary, warnings
from regard.training.command import command_line, tables_of
from regard.training.distribution import own_card, processes, restarted
from regard.training.events import Event, Journal, View
from regard.training.finish import METRICS
from regard.training.held_out import TEXTS
from regard.training.lock import locked
from regard.training.machine.estimate import Speeds
from regard.training.recipe import DataSettings, Recipe, Tables, merged, parsed, put_together, read_file, with_paths
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
    """Trains a model on sentence pairs; True when `out` is a finished model folder, False where `stop` was set before.

    docs/training.md explains each parameter; they are the options of `regard train`.
    """
    options = {
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
    } | {"--resume": resume, "--changed-data": changed_data}
    chosen, folder, goes_on = own_card(device_for(device)), Path(out), resume or restarted()
    with processes(chosen) as team, locked(folder / "training") if team.first else nullcontext():
        asked = tables_of(data, options)
        found = _recipe(folder, asked, preset, recipe, settings, goes_on, device=chosen) if team.first else None
        checked, reasons = team.share(found)
        with view(checked.training) if view and team.first else nullcontext() as watching:
            journal = Journal(folder / METRICS, watching, also_tell) if team.first else Journal(None, None)
            for sentence in (*reasons, *warnings(checked.training)):
                journal.say(sentence)
            around = Surroundings(folder, chosen, team, journal, stop or Flag(), command_line(data, options))
            return run(checked, around, reasons=reasons, resume=goes_on, changed_data=changed_data)


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
    work, begun = folder / "training", has_begun(folder)
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
        return changed(work, given, named, malformed), []
    kept = {}
    if goes_on and ("files" not in given["data"] or has_restarted(work)):  # the stored settings may be safer ones
        kept = choices_of(work)
        named, given = stored(work, given, named)
    preset, checked, reasons = _new(given, named, where=recipe, malformed=malformed, device=device)
    clear(folder, METRICS, f"training/{TEXTS}")
    write_recipe(work, checked)
    own = None if named or checked.data.adapt else merged(tables, from_options, options)
    write_preset(work, preset, given=own, kept=kept)
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
    _check_data(given.get("data", {}))
    where = str(where or f"preset {preset or 'auto'!r} and options")
    own = own_tables(given["data"]["adapt"], given) if given["data"].get("adapt") else {}
    first = presets.load(preset or "base").tables
    if preset is None:
        first = first | {"tokeniser": {}}  # another kind may be chosen, with other options
    checked = put_together([first, own, given], where=where, malformed=malformed)  # before the corpus is read
    if preset is None:
        training = given.get("training", {})
        preset, chosen, reasons = _automatic(checked.data, training, device or device_for(None))
    else:
        preset, chosen, reasons = _named(preset, given, checked)
    return preset, put_together([presets.load(preset).tables, chosen, own, given], where=where), reasons


def _check_data(data: dict[str, Any]) -> None:
    missing = [name for name in ("files", "source", "target") if not data.get(name)]
    if missing:
        raise SettingsError(
            f"the training data are incomplete: {', '.join(missing)} missing.\n"
            "  Give files of sentence pairs, --source and --target, or a recipe with a [data] table."
        )


def _automatic(data: DataSettings, training: Mapping[str, Any], device: torch.device) -> tuple[str, Tables, list[str]]:
    """The preset for these data, this machine and the time that there is, changes to it, and the reasons."""
    minutes, steps = training.get("minutes"), training.get("steps")
    if data.adapt:
        return (
            "adapt",
            {},
            [f"Adapting the model {data.adapt}: a low, constant learning rate, with its own tokeniser and size."],
        )
    text = _gathered(data)
    source, target = text.statistics()
    languages = Languages(data.source, data.target)
    advice = advise(
        text.pairs,
        source=source,
        target=target,
        languages=languages,
        fast=device.type == "cuda",
        budget=Budget(minutes, Speeds(device).tokens_per_second) if minutes else None,
    )
    tables = advice._replace(steps=steps).tables if steps else advice.tables
    return advice.preset, tables, [f"{reason[:1].upper()}{reason[1:]}." for reason in advice.reasons]


def _named(preset: str, given: Tables, checked: Recipe) -> tuple[str, Tables, list[str]]:
    """The preset that was named, with a vocabulary that suits the corpus unless the tokeniser was chosen."""
    if checked.data.adapt or {"kind", "vocabulary"} & given.get("tokeniser", {}).keys():
        return preset, {}, []
    suitable = suitable_vocabulary(_gathered(checked.data).pairs, checked.tokeniser.vocabulary)
    if suitable is None:
        return preset, {}, []
    vocabulary, reason = suitable
    return preset, {"tokeniser": {"vocabulary": vocabulary}}, [f"{reason}."]


def _gathered(data: DataSettings) -> Gathered:
    """The text, read once for all that follows."""
    source = Source(
        data=data.files,
        source=data.source,
        target=data.target,
        format=data.format,
        columns=data.columns,
        encoding=data.encoding,
        skip_bad=data.skip_bad,
    )
    return gathered(source, cache_folder())
