"""`regard classify`: a label for each line."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from regard.cli.lines_of import line_windows
from regard.cli.options import Device, Model
from regard.cli.output import print_json


def command(
    model: Model,
    text: Annotated[list[str] | None, typer.Argument(help="Texts to classify.")] = None,
    file: Annotated[list[Path] | None, typer.Option(help="File of texts, one per line; may be repeated.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per text.")] = False,
    device: Device = None,
) -> None:
    """Classify texts: one line out for each line in, with the label and its probability.

    Texts come from the command, from files or from standard input.
    """
    from regard.family.classifier import Classifier

    found = Classifier(model, device=device)
    for window in line_windows(text or (), file or ()):
        for line, each in zip(window, found.classify(window), strict=True):
            if as_json:
                print_json({"text": line, "label": each.label, "probabilities": each.probabilities}, indent=None)
            else:
                typer.echo(f"{each.label}\t{each.probability:.4f}")
