"""The option `--columns`, which all commands share that read tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from regard.text.pairs import Columns


def columns_of(text: str | None, option: str = "--columns") -> Columns | None:
    """`3,4` as numbers and `English,German` as names; None where the option was not given."""
    if text is None:
        return None
    names = [name.strip() for name in text.split(",")]
    if len(names) != 2 or not all(names):
        what = f"{text!r}: expected two columns, numbers such as 3,4 or names such as source,target."
        raise typer.BadParameter(what, param_hint=option)
    first, second = (int(name) if name.isdecimal() else name for name in names)
    return first, second
