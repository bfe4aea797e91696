"""`regard compare`: whether one system is better than another, and where."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from regard.cli.options import Device
from regard.cli.output import print_json

if TYPE_CHECKING:
    from regard.evaluation.comparison import Comparison


def command(
    systems: Annotated[list[Path], typer.Argument(help="Models (folder or shipped name) or files of translations.")],
    test: Annotated[Path, typer.Option(help="Test set: sentence pairs, or references only, one per line.")],
    source: Annotated[str, typer.Option(help="Source language, such as en (default: the models').")] = "",
    target: Annotated[str, typer.Option(help="Target language, such as de (default: the models').")] = "",
    reference: Annotated[list[Path] | None, typer.Option(help="File of further references; may be repeated.")] = None,
    train: Annotated[list[Path] | None, typer.Option(help="Training data, to count how rare words are.")] = None,
    metrics: Annotated[str, typer.Option(help="Metrics, separated by commas.")] = "bleu,chrf,ter",
    tokenised: Annotated[bool, typer.Option("--tokenised", help="The text is already tokenised.")] = False,
    lowercase: Annotated[bool, typer.Option("--lowercase", help="Ignore case.")] = False,
    seed: Annotated[int, typer.Option(help="Random seed of the significance tests.")] = 12345,
    beam_size: Annotated[int, typer.Option(help="Beam size of the models' search.")] = 4,
    length_penalty: Annotated[
        float | None, typer.Option(help="Length penalty of the models' search (default: each model's own, or 0.6).")
    ] = None,
    device: Device = None,
    out: Annotated[Path | None, typer.Option(help="Write the comparison as an HTML page to this file.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Compare models or files of translations: scores, significance, and the sentences that differ most.

    Regard compares every system with the first one. A model translates the test set; a file holds one translation per
    line. If you compare only files and give no languages, the test set is a file of references, one per line.
    """
    from regard.errors import SettingsError
    from regard.evaluation.comparison import compare
    from regard.evaluation.comparison_page import write_page
    from regard.evaluation.reading import languages_of, read_frequencies, read_held_out, read_systems
    from regard.metrics import Options
    from regard.text.pairs import Languages

    if bool(source) != bool(target):
        raise SettingsError(
            "--source and --target: give both options, or neither if the test set holds references only."
        )
    languages = Languages(source, target) if source else languages_of(systems)
    held_out = read_held_out(test, languages, more=reference or [])
    comparison = compare(
        read_systems(systems, held_out, beam_size=beam_size, length_penalty=length_penalty, device=device),
        held_out,
        metrics=[name for name in metrics.split(",") if name.strip()],
        options=Options(tokenised=tokenised, lowercase=lowercase, language=languages.target if languages else ""),
        frequencies=read_frequencies(train, languages) if train else None,
        seed=seed,
    )
    if out:
        write_page(out, comparison)
    if as_json:
        print_json(comparison.table())
    else:
        _show(Console(highlight=False), comparison, out)


def _show(console: Console, comparison: Comparison, out: Path | None) -> None:
    console.print(Text(f"{comparison.held_out}, {comparison.lines:,} sentences\n", style="bold"))
    console.print(_scores(comparison))
    console.print("±: half the 95 % confidence interval (bootstrap over sentences).\n", style="dim")
    for difference in comparison.differences:
        style = "bold green" if difference.better else ""
        console.print(Text(difference.in_words(), style=style))
    console.print()
    for score in comparison.scores[0]:
        console.print(Text(f"{score.title}: {score.signature}", style="dim"), soft_wrap=True)
    for remark in comparison.remarks:
        console.print(Text(f"\n{remark}"))
    if out:
        console.print(Text(f"\nThe full comparison, with the sentences that differ most: {out}"))


def _scores(comparison: Comparison) -> Table:
    """A row for each system."""
    table = Table("system", box=None, pad_edge=False)
    for score in comparison.scores[0]:
        arrow = "↑" if score.higher_is_better else "↓"
        table.add_column(f"{score.title} {arrow}", justify="right")
    for name, scores, intervals in zip(comparison.systems, comparison.scores, comparison.intervals, strict=True):
        cells = [
            f"{score.value:.1f} ± {(interval.high - interval.low) / 2:.1f}"
            for score, interval in zip(scores, intervals, strict=True)
        ]
        table.add_row(Text(name), *cells)
    return table
