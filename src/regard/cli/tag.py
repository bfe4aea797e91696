"""`regard tag`: a tag for each word of each line."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from regard.cli.lines_of import line_windows
from regard.cli.options import Device, Model
from regard.cli.output import print_json


def command(
    model: Model,
    text: Annotated[list[str] | None, typer.Argument(help="Sentences to tag, with spaces between words.")] = None,
    file: Annotated[list[Path] | None, typer.Option(help="File of sentences, one per line; may be repeated.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per sentence.")] = False,
    device: Device = None,
) -> None:
    """Tag words: one line of tags out for each line in.

    Sentences come from the command, from files or from standard input. Words are separated by spaces.
    """
    from regard.family.tagger import Tagger

    found = Tagger(model, device=device)
    for window in line_windows(text or (), file or ()):
        for each in found.tag(window):
            if as_json:
                table = {"words": each.words, "tags": each.tags, "probabilities": each.probabilities,
                         "spans": [span._asdict() for span in each.spans]}  # fmt: skip
                print_json(table, indent=None)
            else:
                typer.echo(" ".join(each.tags))
