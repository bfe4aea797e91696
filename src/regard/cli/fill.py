"""`regard fill`: a masked model fills in what is hidden."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from regard.cli.lines_of import line_windows
from regard.cli.options import Device, Model
from regard.cli.output import print_json


def command(
    model: Model,
    text: Annotated[list[str] | None, typer.Argument(help='Texts with masks, such as "The [MASK] sat."')] = None,
    file: Annotated[list[Path] | None, typer.Option(help="File of texts, one per line; may be repeated.")] = None,
    count: Annotated[int, typer.Option(help="Tokens to show for each mask.")] = 5,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per text.")] = False,
    device: Device = None,
) -> None:
    """Fill in [MASK] with a masked model. Texts come from the command, from files or from standard input."""
    from regard.family.masked_model import MaskedModel

    found = MaskedModel(model, device=device)
    for window in line_windows(text or (), file or ()):
        for line, masks in zip(window, found.fill(window, count=count), strict=True):
            if as_json:
                tables = [[{"token": each.token, "probability": each.probability, "text": each.text} for each in one]
                          for one in masks]  # fmt: skip
                print_json({"text": line, "filled": masks[0][0].text, "masks": tables}, indent=None)
                continue
            typer.echo(masks[0][0].text)
            for number, one in enumerate(masks, start=1):
                listed = ", ".join(f"{each.token} {100 * each.probability:.1f}%" for each in one)
                typer.echo(f"  [MASK] {number}: {listed}")
