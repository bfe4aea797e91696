"""`regard export`: a model folder as a folder of another program, or a smaller one of this."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from regard.cli.options import Model


def command(
    model: Model,
    out: Annotated[Path, typer.Argument(help="The folder to create.")],
    to: Annotated[str, typer.Option(help="Target format: ctranslate2, or regard (a smaller model folder).")],
    quantization: Annotated[
        str | None,
        typer.Option(help="Type of the stored weights: float32, float16, int8, ... (default: by the format)."),
    ] = None,
) -> None:
    """Export a model for another program, or as a smaller model folder. Existing files are never overwritten."""
    from regard.exchange import export

    export(model, out, to=to, quantization=quantization)
    size = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
    typer.echo(f"{out}: {size / 1e6:,.1f} MB, for {to}. Its README.md explains how to use it.")
