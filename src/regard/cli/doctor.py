"""`regard doctor`: what this machine can do, tried and not guessed, and what to do about what it cannot."""

from __future__ import annotations

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text


def command() -> None:
    """Show what this machine can do, what Regard chooses on it, and how to install what is missing."""
    import torch

    from regard.training.machine.abilities import examine
    from regard.version import __version__

    console = Console(highlight=False)
    with console.status("Testing this machine"):
        parts = examine()
    typer.echo(f"Regard {__version__}, PyTorch {torch.__version__}\n")
    table = Table("", "found", "what it means", box=None, pad_edge=False)
    for part in parts:
        table.add_row(Text(part.name), Text(part.found), Text(part.follows, overflow="fold"))
    console.print(table)
    mended = [part for part in parts if part.mend]
    if mended:
        console.print(Text("\nSuggestions", style="bold"))
    for part in mended:
        console.print(Text(f"  {part.name}: {part.mend}"), soft_wrap=True)
