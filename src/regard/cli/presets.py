"""`regard presets`: the models that can be trained by name."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text


def command(as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False) -> None:
    """List the presets with their sizes and purposes. Train one with: regard train --preset NAME."""
    from regard import presets

    loaded = [presets.load(name) for name in presets.names()]
    if as_json:
        typer.echo(json.dumps({preset.name: {"about": preset.about, **preset.tables} for preset in loaded}, indent=2))
        return
    table = Table("preset", "layers", "width", "about", box=None, pad_edge=False)
    for preset in loaded:
        keys = ("encoder_layers", "decoder_layers", "layers")
        layers = "+".join(str(preset.model[key]) for key in keys if key in preset.model)
        width = str(preset.model.get("d_model", ""))
        table.add_row(Text(preset.name, style="bold"), layers, width, Text(preset.about))
    Console(highlight=False).print(table)
