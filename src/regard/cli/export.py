"""`regard export`: a model folder as a folder of another program, or a smaller one of this."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def command(
    model: Annotated[Path, typer.Argument(help="A model folder, or the name of a shipped model.")],
    out: Annotated[Path, typer.Argument(help="A new folder, which is made.")],
    to: Annotated[str, typer.Option(help="What is to read it: ctranslate2; or regard, for a smaller model folder.")],
    quantization: Annotated[
        str | None, typer.Option(help="How weights are stored: float32, float16, int8, ...; what suits, if left out.")
    ] = None,
) -> None:
    """Write a model for another program, or smaller for this one. Nothing is overwritten."""
    from regard.exchange import export

    export(model, out, to=to, quantization=quantization)
    size = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
    typer.echo(f"{out}: {size / 1e6:,.1f} MB, for {to}. Its README.md says how to use it.")
