"""The options of `regard train`: as the command that asks for the same, and as tables of a recipe."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from regard.training.recipe import Tables

Options = Mapping[str, Any]
"""By their names on the command line. None, False and empty lists: not given. A tuple is one value, a list several."""

_TABLES = {
    "data": {
        "--task": "task",
        "--documents": "documents",
        "--source": "source",
        "--target": "target",
        "--valid": "valid",
        "--format": "format",
        "--columns": "columns",
        "--encoding": "encoding",
        "--skip-bad": "skip_bad",
        "--from": "adapt",
        "--old": "old",
    },
    "training": {
        "--steps": "steps",
        "--minutes": "minutes",
        "--checkpoint-every": "checkpoint_every",
        "--seed": "seed",
    },
}


def command_line(data: Sequence[str | Path], options: Options) -> str:
    """The command with these data and options."""
    words = ["regard", "train", *map(str, data)]
    for name, value in _given(options).items():
        if value is True:
            words.append(name)
        elif isinstance(value, list):
            words += [word for item in value for word in (name, item)]
        else:
            words += [name, ",".join(map(str, value)) if isinstance(value, tuple) else str(value)]
    return shlex.join(words)


def tables_of(data: Sequence[str | Path], options: Options) -> Tables:
    """The tables of a recipe that these data and options set."""
    given = _given(options)
    tables: Tables = {
        table: {key: given[name] for name, key in names.items() if name in given} for table, names in _TABLES.items()
    }
    if data:
        tables["data"]["files"] = [str(item) for item in data]
    return tables


def _given(options: Options) -> dict[str, Any]:
    """The options that were given."""
    given = {name: value for name, value in options.items() if value not in (None, False, [])}
    return {name: _plain(value) for name, value in given.items()}


def _plain(value: Any) -> Any:
    """Paths as text."""
    if isinstance(value, list):
        return [str(item) for item in value]
    return str(value) if isinstance(value, Path) else value
