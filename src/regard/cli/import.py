"""`regard import`: another program's model as a model folder."""
# ruff: noqa: N999  the command is called import

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def command(
    folder: Annotated[
        Path, typer.Argument(help="A Hugging Face folder of a Marian model, GPT-2 or BERT, or a folder of Marian.")
    ],
    out: Annotated[Path, typer.Argument(help="The model folder to create.")],
    source: Annotated[str | None, typer.Option(help="Source language code (default: from the folder).")] = None,
    target: Annotated[str | None, typer.Option(help="Target language code (default: from the folder).")] = None,
) -> None:
    """Import a Marian or OPUS-MT model, GPT-2 or BERT as a model folder. No code in the folder is executed."""
    from regard.exchange.importing import import_model
    from regard.modelfolder import read_description

    import_model(folder, out, source=source, target=target)
    size = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
    uses = {"language": "Continue a text with: regard generate", "masked": "Fill in masks with: regard fill"}
    use = uses.get(read_description(out).task, "Translate with: regard translate")
    typer.echo(f"{out}: {size / 1e6:,.1f} MB. {use} {out}")
