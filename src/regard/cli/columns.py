"""The option `--columns`, which all commands share that read TSV files."""

from __future__ import annotations

import typer


def columns_of(text: str | None, option: str = "--columns") -> tuple[int, int] | None:
    """`3,4` as numbers; None where the option was not given."""
    if text is None:
        return None
    numbers = text.split(",")
    if len(numbers) != 2 or not all(number.strip().isdecimal() for number in numbers):
        raise typer.BadParameter(f"{text!r}: expected two column numbers, such as 3,4.", param_hint=option)
    return int(numbers[0]), int(numbers[1])
