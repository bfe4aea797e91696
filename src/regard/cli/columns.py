"""What commands share that read TSV files: the option `--columns`."""

from __future__ import annotations

import typer


def columns_of(text: str | None) -> tuple[int, int] | None:
    """`3,4` as numbers; nothing where nothing was said."""
    if text is None:
        return None
    try:
        source, target = (int(number) for number in text.split(","))
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not two numbers with a comma between them, such as 3,4") from None
    return source, target
