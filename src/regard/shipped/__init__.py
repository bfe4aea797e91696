"""The models that come with Regard: every folder beside this file that holds a model, by the folder's name.

MODEL is the path of a folder or the name of a shipped model, everywhere: `find` is the one place that decides. A folder
that exists comes first: a folder `./en-de` stays visible although a model of that name is shipped.
"""

from __future__ import annotations

import re
from pathlib import Path

PLACE = Path(__file__).parent

_DESCRIPTION = "regard.json"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")


def names() -> list[str]:
    """What is shipped with this installation."""
    return sorted(folder.name for folder in PLACE.iterdir() if (folder / _DESCRIPTION).is_file())


def is_name(model: str | Path) -> bool:
    """Whether this names a shipped model, and no folder or file that is there."""
    return _NAME.fullmatch(str(model)) is not None and not Path(model).exists() and str(model) in names()


def find(model: str | Path) -> Path:
    """The folder of a shipped model, or the path as it was given."""
    return PLACE / str(model) if is_name(model) else Path(model)


def told() -> str:
    """What is shipped, as a sentence."""
    there = names()
    return f"Shipped with Regard: {', '.join(there)}." if there else "No model is shipped with this installation."
