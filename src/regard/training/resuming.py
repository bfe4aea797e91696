"""Going on with a run: whether there is one in a folder, which settings may change, and the data, which must not.

training/
    recipe.json         the settings of the run
    began.json          the preset that it began with, whether it was restarted, and the size and hash of its data
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from regard import modelfolder, models
from regard.batches.corpus import StoredCorpus
from regard.errors import SettingsError, TrainingError
from regard.text.files import replacing
from regard.training.corpora import Corpora
from regard.training.recipe import Recipe, Tables, merged, put_together
from regard.training.surroundings import Surroundings

RECIPE, BEGAN = "recipe.json", "began.json"

_MAY_CHANGE = {
    "training": {"steps", "minutes", "checkpoint_every", "checkpoint_minutes", "averaged_checkpoints"},
    "validation": {"every", "translate_every", "translated_pairs", "patience"},
    "data": {"files", "old"},  # where they lie: what is in them is compared by its hash
}
_BLOCK = 1 << 24


def has_begun(out: Path) -> bool:
    """Whether there is a run with a checkpoint in the folder; a model that has none to go on from is an error."""
    checkpoints = out / "training" / "checkpoints"
    if any(place for kind in ("step-*", "stop-*") for place in checkpoints.glob(kind)):
        return True
    if (out / modelfolder.DESCRIPTION).exists():
        raise TrainingError(
            f"{out}: this folder already contains a model, but no checkpoint to resume from.\n"
            "  Regard overwrites nothing: choose another --out."
        )
    return False


def clear(out: Path, *others: str) -> None:
    """Deletes what a run that never came to a checkpoint has left behind."""
    work = out / "training"
    if not (work / RECIPE).exists():
        return
    for folder in ("tokeniser", "checkpoints"):
        shutil.rmtree(work / folder, ignore_errors=True)
    for file in (work / BEGAN, *(out / name for name in others), work / RECIPE):
        file.unlink(missing_ok=True)


def write_recipe(work: Path, recipe: Recipe) -> None:
    """Stores the settings of the run."""
    _write(work / RECIPE, recipe.table())


def read_recipe(work: Path) -> Recipe:
    """The settings of the run."""
    path = work / RECIPE
    try:
        tables: dict[str, Any] = json.loads(path.read_bytes())
    except (OSError, ValueError):
        raise TrainingError(f"{path}: this file is missing or damaged.\n  Delete {work} and start a new run.") from None
    return Recipe.read(tables, where=str(path))


def write_preset(
    work: Path, preset: str, *, given: Tables | None = None, kept: Mapping[str, Any] | None = None
) -> None:
    """Stores the preset that the run began with; where Regard chose it, with the names of the `given` settings.

    `kept` are the choices of a run that never came to a checkpoint (`choices_of`).
    """
    chosen: dict[str, Any] = dict(kept or {})
    if given is not None:
        names = [f"{table}.{key}" for table, values in given.items() for key in values if table != "data"]
        chosen = {"automatic": True, "given": names}
    _write(work / BEGAN, _read_began(work) | {"preset": preset} | chosen)


def choices_of(work: Path) -> dict[str, Any]:
    """What Regard chose for the run that is stored, and whether it has started again."""
    began = _read_began(work)
    return {name: began[name] for name in ("automatic", "given", "restarted") if name in began}


def may_restart(work: Path) -> list[str] | None:
    """The settings that a restart must not change; None where a run may not start again: not automatic, or twice."""
    began = _read_began(work)
    return list(began.get("given", ())) if began.get("automatic") and not began.get("restarted") else None


def write_restarted(work: Path) -> None:
    """Stores that the run has started again."""
    _write(work / BEGAN, _read_began(work) | {"restarted": True})


def has_restarted(work: Path) -> bool:
    """Whether the run has started again, so that its stored settings count."""
    return bool(_read_began(work).get("restarted"))


def stored(work: Path, given: Tables, preset: str | None) -> tuple[str | None, Tables]:
    """The preset and the settings of a run that never came to a checkpoint, with what was `given` after them."""
    if not (work / RECIPE).exists():
        return preset, given
    return preset or _read_began(work).get("preset"), merged(read_recipe(work).table(), given)


def changed(work: Path, given: Tables, preset: str | None, malformed: Sequence[str] = ()) -> Recipe:
    """The settings of the run with those that were `given` on going on, which are refused where they may not change."""
    before = read_recipe(work)
    now = put_together([before.table(), given], where="--resume", malformed=malformed)
    began = _read_began(work).get("preset")
    problems = _differences(before, now)
    if preset and began and preset != began:
        problems.insert(0, f"preset: {began!r} then, {preset!r} now")
    if problems:
        listed = "\n".join(f"  {problem}" for problem in problems)
        raise SettingsError(
            f"--resume: these settings differ from those at the start of this run.\n{listed}\n"
            "  Leave them out to continue, or choose another --out for a new run. You may change: --steps, --minutes, "
            "checkpoints, validation, [test]."
        )
    return now


def check_data(recipe: Recipe, around: Surroundings, corpora: Corpora, *, accept: bool) -> None:
    """Refuses data that are not those that the run began with, unless they are accepted; notes them for the next time.

    A new run has nothing to compare with.
    """
    began = _read_began(around.work)
    now = {"training": _identity(corpora.training)}
    if recipe.data.valid:
        now["validation"] = _identity(corpora.held_out.corpus)
    for kind, identity in now.items():
        then = began.get(kind, identity)
        if then == identity:
            continue
        told = f"the {kind} data differ from those at the start of this run: {_told(then)} then, {_told(identity)} now."
        if not accept:
            raise TrainingError(
                f"{around.out}: {told}\n  Restore the old data, choose another --out for a new run, "
                "or continue with the new data: --resume --changed-data"
            )
        around.journal.say(
            f"Warning: {told} Losses and scores before and after are not comparable. Without a validation file, "
            "validation may now use pairs that the model was trained on."
        )
    if began | now != began:
        _write(around.work / BEGAN, began | now)


def _differences(before: Recipe, now: Recipe) -> list[str]:
    """The settings that differ and must not, each with both values."""
    then, given = _table(before), _table(now)
    return [
        f"{name}.{key}: {_value(then[name], key)} then, {_value(given[name], key)} now"
        for name in then
        for key in sorted(then[name] | given[name])
        if then[name].get(key) != given[name].get(key) and not _may_change(before, name, key)
    ]


def _may_change(before: Recipe, name: str, key: str) -> bool:
    """Another number of held-out pairs would train on others; of a validation file, it is how many are translated."""
    if (name, key) in (("validation", "pairs"), ("data", "valid")):
        return before.data.valid is not None
    return key in _MAY_CHANGE.get(name, ())


def _table(recipe: Recipe) -> Tables:
    """All settings that training depends on, defaults included."""
    vocabularies = dict.fromkeys(models.named_by(recipe.model).vocabularies.values(), 1)  # the tokeniser decides
    model = models.read_settings(recipe.model | vocabularies, where="model").table()
    table: Tables = {**recipe.table(), "model": {**model, "architecture": recipe.model.get("architecture")}}
    table.pop("test", None)
    return table


def _value(table: Mapping[str, Any], key: str) -> str:
    return repr(table[key]) if key in table else "not set"


def _identity(corpus: StoredCorpus) -> dict[str, Any]:
    """How many pairs a corpus has, and a hash of all of their ids."""
    digest = blake2b(digest_size=16)
    for stream in corpus.streams.values():
        for array in stream:
            for start in range(0, len(array), _BLOCK):
                digest.update(np.ascontiguousarray(array[start : start + _BLOCK]).data)
    return {"pairs": len(corpus), "hash": digest.hexdigest()}


def _told(identity: Mapping[str, Any]) -> str:
    return f"{identity['pairs']:,} pairs (hash {identity['hash'][:12]})"


def _read_began(work: Path) -> dict[str, Any]:
    """What the run began with; nothing where an older Regard began it."""
    try:
        table: dict[str, Any] = json.loads((work / BEGAN).read_bytes())
    except FileNotFoundError:
        return {}
    except ValueError:
        raise TrainingError(
            f"{work / BEGAN}: this file is damaged, so Regard cannot check that the data are the same.\n"
            "  Delete it to continue without comparing."
        ) from None
    return table


def _write(path: Path, table: Mapping[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as file:
        file.write(json.dumps(table, indent=2, ensure_ascii=False).encode() + b"\n")
