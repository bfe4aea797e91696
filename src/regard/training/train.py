"""`train(...)`: what the command takes, checked as a whole, and a run started or gone on with."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from threading import Event as Flag
from typing import Any

from regard import presets
from regard.errors import SettingsError, TrainingError
from regard.text.pairs import Languages, chunks
from regard.text.statistics import SideStatistics
from regard.training.adapting import own_tables
from regard.training.advice import advise, suitable_vocabulary, warnings
from regard.training.distribution import processes, restarted
from regard.training.events import Event, Journal, View
from regard.training.finish import METRICS
from regard.training.precision import device_for
from regard.training.recipe import DataSettings, Recipe, Tables, merged, parsed, put_together, read_file, with_paths
from regard.training.run import run
from regard.training.settings import TrainingSettings
from regard.training.surroundings import Surroundings

RECIPE = "recipe.json"

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
    columns: tuple[int, int] | None = None,
    skip_bad: bool = False,
    from_model: str | Path | None = None,
    old: Sequence[str | Path] = (),
    steps: int | None = None,
    minutes: float | None = None,
    checkpoint_every: int | None = None,
    seed: int | None = None,
    device: str | None = None,
    resume: bool = False,
    view: Watch | None = None,
    also_tell: Callable[[Event], None] | None = None,
    stop: Flag | None = None,
) -> bool:
    """Trains a model on sentence pairs; True when `out` is a finished model folder, False where `stop` was set before.

    docs/training.md explains each parameter; they are the options of `regard train`.
    """
    options: Tables = {
        "data": {
            "files": [str(item) for item in data] or None,
            "source": source,
            "target": target,
            "valid": str(valid) if valid else None,
            "format": format,
            "columns": columns,
            "skip_bad": skip_bad or None,
            "adapt": str(from_model) if from_model else None,
            "old": [str(item) for item in old] or None,
        },
        "training": {"steps": steps, "minutes": minutes, "checkpoint_every": checkpoint_every, "seed": seed},
    }
    options = {name: _said(table) for name, table in options.items()}
    chosen = device_for(device)
    with processes(chosen) as team:
        folder = Path(out)
        goes_on = resume or restarted()
        found = _recipe(folder, options, preset, recipe, settings, goes_on) if team.first else None
        checked, reasons = team.share(found)
        program = Path(sys.argv[0]).name.replace("__main__.py", "regard")
        command = shlex.join([program, *sys.argv[1:]])
        with view(checked.training) if view and team.first else nullcontext() as watching:
            journal = Journal(folder / METRICS, watching, also_tell) if team.first else Journal(None, None)
            for sentence in (*reasons, *warnings(checked.training)):
                journal.say(sentence)
            around = Surroundings(folder, chosen, team, journal, stop or Flag(), command)
            return run(checked, around, reasons=reasons, resume=goes_on)


def _recipe(
    folder: Path, options: Tables, preset: str, recipe: str | Path | None, settings: Sequence[str], goes_on: bool
) -> tuple[Recipe, list[str]]:
    """The recipe of the run that goes on, or that of a new one, which is written down."""
    stored = folder / "training" / RECIPE
    if stored.exists():
        if not goes_on:
            raise TrainingError(
                f"{folder}: there is a training run in this folder already.\n"
                "  Go on with it by --resume, or choose another --out."
            )
        return _gone_on_with(stored, options)
    named, tables = read_file(Path(recipe)) if recipe else (None, {})
    from_options, malformed = parsed(settings)
    given = merged(with_paths(tables, options["data"]), from_options, options)
    _check_data(given.get("data", {}))
    if preset == "auto":
        preset = named or preset
    where = str(recipe) if recipe else f"preset {preset!r} and options"
    own = own_tables(given["data"]["adapt"], given) if given["data"].get("adapt") else {}
    first = presets.load("base" if preset == "auto" else preset).tables
    if preset == "auto":
        first = first | {"tokeniser": {}}  # another kind may be chosen, with other options
    checked = put_together([first, own, given], where=where, malformed=malformed)  # before the corpus is read
    preset, chosen, reasons = _automatic(checked.data) if preset == "auto" else _named(preset, given, checked)
    checked = put_together([presets.load(preset).tables, chosen, own, given], where=where)
    _make_folder(stored.parent)
    partial = stored.with_suffix(".partial")
    partial.write_text(json.dumps(checked.table(), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    os.replace(partial, stored)  # noqa: PTH105
    return checked, reasons


def _check_data(data: dict[str, Any]) -> None:
    missing = [name for name in ("files", "source", "target") if not data.get(name)]
    if missing:
        raise SettingsError(
            f"what to train on is not said: {', '.join(missing)}.\n"
            "  Name files of sentence pairs, --source and --target, or a recipe that has them in its [data] table."
        )


def _automatic(data: DataSettings) -> tuple[str, Tables, list[str]]:
    """The preset for these data, changes to it, and the reasons, as sentences."""
    if data.adapt:
        return (
            "adapt",
            {},
            [f"The model {data.adapt} is adapted: a low rate that stays, and its own tokeniser and size."],
        )
    source, target = SideStatistics(), SideStatistics()
    for chunk in chunks(data.pairs()):
        source.add(chunk.sources, Counter("".join(chunk.sources)))
        target.add(chunk.targets, Counter("".join(chunk.targets)))
    languages = Languages(data.source, data.target)
    advice = advise(source.words.counts.total(), source=source, target=target, languages=languages)
    tables: Tables = {
        "model": {"dropout": advice.dropout},
        "tokeniser": advice.tokeniser.model_dump(mode="json", exclude_none=True),
    }
    return advice.preset, tables, [f"{reason[:1].upper()}{reason[1:]}." for reason in advice.reasons]


def _named(preset: str, given: Tables, checked: Recipe) -> tuple[str, Tables, list[str]]:
    """The preset that was named, with a vocabulary that suits the corpus unless the tokeniser was chosen."""
    if checked.data.adapt or {"kind", "vocabulary"} & given.get("tokeniser", {}).keys():
        return preset, {}, []
    suitable = suitable_vocabulary(checked.data.pairs(), checked.tokeniser.vocabulary)
    if suitable is None:
        return preset, {}, []
    vocabulary, reason = suitable
    return preset, {"tokeniser": {"vocabulary": vocabulary}}, [f"{reason}."]


def _gone_on_with(stored: Path, options: Tables) -> tuple[Recipe, list[str]]:
    """The stored recipe. How long to train may be said anew; everything else must be as it was."""
    try:
        tables: dict[str, Any] = json.loads(stored.read_bytes())
    except ValueError:
        raise TrainingError(f"{stored}: it is damaged.\n  Delete {stored.parent} and start anew.") from None
    for key in ("steps", "minutes"):
        if key in options["training"]:
            tables["training"][key] = options["training"][key]
    for table, key in (("data", "source"), ("data", "target"), ("training", "seed")):
        said, was = options[table].get(key), tables[table].get(key)
        if said is not None and said != was:
            raise SettingsError(
                f"--resume: {key} was {was!r} when this run began, and is {said!r} now.\n  Leave it out, or start anew."
            )
    return Recipe.read(tables, where=str(stored)), []


def _said(table: dict[str, Any]) -> dict[str, Any]:
    """The options that were given."""
    return {key: value for key, value in table.items() if value is not None}


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / ".writable"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise TrainingError(
            f"{folder}: this folder cannot be written to: {error.strerror}.\n  Choose another --out."
        ) from None
