"""`regard doctor`: what this machine can do."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table


def command() -> None:
    """Show what this machine can do, and what training would choose on it."""
    import torch

    from regard.training.machine import examine
    from regard.version import __version__

    table = Table("", "here", "what follows", box=None, pad_edge=False)
    for part in examine():
        table.add_row(part.name, part.found, part.follows)
    console = Console()
    console.print(f"Regard {__version__}, PyTorch {torch.__version__}\n")
    console.print(table)
