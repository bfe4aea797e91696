"""`regard demo`: a tour of the paper's base model."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from typing import Any

    from regard.models.verbs import Model

VOCABULARY = 37_000  # section 5.1


def command(
    preset: Annotated[str, typer.Option(help="The preset to build.")] = "base",
) -> None:
    """Build the paper's model, show its layers, and run a batch through it."""
    import torch

    from regard import models, presets

    console = Console()
    torch.manual_seed(0)
    table = presets.load(preset).model
    vocabularies = {"source_vocabulary": VOCABULARY, "target_vocabulary": VOCABULARY}
    settings = models.read_settings(table | vocabularies, where=f"preset {preset!r}")
    model = models.build(table["architecture"], settings).eval()
    console.print(f"[bold]The Transformer[/], preset {preset!r}, a vocabulary of {VOCABULARY:,}\n")
    console.print(_layers(model))
    _run_a_batch(console, model)


def _layers(model: Model[Any, Any]) -> Table:
    """Every parameter of the model; of equal layers the first, with its repetitions."""
    table = Table("part", "shape", "parameters", "times", box=None, pad_edge=False)
    for column in table.columns[1:]:
        column.justify = "right"
    parameters = list(model.named_parameters())
    copies: dict[str, int] = {}
    for name, _ in parameters:
        copies[_of_any_layer(name)] = copies.get(_of_any_layer(name), 0) + 1
    for name, parameter in parameters:
        times = copies.pop(_of_any_layer(name), 0)
        if times:
            shape = " x ".join(map(str, parameter.shape))
            table.add_row(_of_any_layer(name), shape, f"{parameter.numel():,}", f"{times}")
    table.add_section()
    table.add_row("[bold]all", "", f"[bold]{sum(p.numel() for _, p in parameters):,}", "")
    return table


def _of_any_layer(name: str) -> str:
    return re.sub(r"\.layers\.\d+\.", ".*.", name)


def _run_a_batch(console: Console, model: Model[Any, Any]) -> None:
    """Two sentence pairs share a row; each gets what it gets alone, and its attention can be watched."""
    import torch

    from regard.batches.rows import batch_of
    from regard.insight.capture import watch

    pairs = [([101, 7, 2056, 88], [31, 4, 9102]), ([55, 12], [77, 3, 18, 640])]
    together = batch_of([pairs], begin=0, end=1)
    alone = batch_of([[pair] for pair in pairs], begin=0, end=1)
    with torch.no_grad():
        with watch(model) as seen:
            logits = model(together)
        apart = model(alone)
    console.print("\n[bold]One batch[/]: two sentence pairs in one row")
    console.print(f"  source sentences  {together.source.segments[0].tolist()}")
    console.print(f"  target sentences  {together.target.segments[0].tolist()}")
    console.print(f"  logits            {' x '.join(map(str, logits.shape))} (rows x positions x vocabulary)")
    rows = [apart[n, : len(target) + 1] for n, (_, target) in enumerate(pairs)]
    difference = (logits[0] - torch.cat(rows)).abs().max().item()
    console.print(f"  packed or alone   at most {difference:.1e} apart")
    weights = sum(lookup.weights.numel() for lookups in seen.values() for lookup in lookups)
    heads = sum(attention.heads for attention in model.attentions().values())
    console.print(f"  attention         {len(seen)} attentions, {heads} heads, {weights:,} weights seen")
    if difference > 1e-4:
        console.print("[red]The sentences of a row influenced each other: this is a defect.")
        raise typer.Exit(1)
