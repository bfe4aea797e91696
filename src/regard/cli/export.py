"""`regard export`: a model folder as a folder of another program, or a smaller one of this."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from regard.cli.options import Model


def command(
    model: Model,
    out: Annotated[Path, typer.Argument(help="The folder to create (for argos: the file NAME.argosmodel).")],
    to: Annotated[str, typer.Option(help="Target format: huggingface, onnx, ctranslate2, argos, or regard (smaller).")],
    quantization: Annotated[
        str | None,
        typer.Option(help="Type of the stored weights: float32, float16, int8, ... (default: by the format)."),
    ] = None,
    unchecked: Annotated[
        bool, typer.Option("--unchecked", help="Do not compare translations with those of the other program.")
    ] = False,
    attentions: Annotated[
        bool, typer.Option("--attentions", help="Add the weights of attention to the outputs (onnx only).")
    ] = False,
) -> None:
    """Export a model for another program, or as a smaller model folder. Existing files are never overwritten.

    If the other program is installed, it translates probe sentences. If they differ from Regard's, the export fails.
    """
    from regard.exchange import export

    verdict = export(model, out, to=to, quantization=quantization, unchecked=unchecked, attentions=attentions)
    written = [out] if out.is_file() else [path for path in out.rglob("*") if path.is_file()]
    size = sum(path.stat().st_size for path in written)
    typer.echo(f"{out}: {size / 1e6:,.1f} MB, for {to}. Its README.md explains how to use it.")
    typer.echo(verdict.sentence())
