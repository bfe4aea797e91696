"""`regard export`: a model folder as a folder of another program."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def command(
    model: Annotated[Path, typer.Argument(help="A model folder.")],
    out: Annotated[Path, typer.Argument(help="A new folder, which is made.")],
    to: Annotated[str, typer.Option(help="The program that is to read it: ctranslate2.")],
    quantization: Annotated[
        str | None, typer.Option(help="How weights are stored: float32, if left out, or int8, int16, float16.")
    ] = None,
) -> None:
    """Write a model for another program. Nothing is overwritten."""
    from regard.exchange import export

    export(model, out, to=to, quantization=quantization)
    size = sum(path.stat().st_size for path in out.iterdir())
    typer.echo(f"{out}: {size / 1e6:,.1f} MB, for {to}. Its README.md says how to use it.")
