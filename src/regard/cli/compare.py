"""`regard compare`: whether one system is better than another, and where."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from regard.cli.output import print_json

if TYPE_CHECKING:
    from regard.evaluation.comparison import Comparison


def command(
    systems: Annotated[list[Path], typer.Argument(help="Models, by folder or shipped name; files of translations.")],
    test: Annotated[Path, typer.Option(help="The test set: sentence pairs, or references alone, one in each line.")],
    source: Annotated[
        str, typer.Option(help="The language of the sources, such as en; that of the models, if left out.")
    ] = "",
    target: Annotated[
        str, typer.Option(help="The language of the translations; that of the models, if left out.")
    ] = "",
    reference: Annotated[list[Path] | None, typer.Option(help="A file of further references; can be repeated.")] = None,
    train: Annotated[list[Path] | None, typer.Option(help="The training text, to tell which words are rare.")] = None,
    metrics: Annotated[str, typer.Option(help="Metrics, with commas between them.")] = "bleu,chrf,ter",
    tokenised: Annotated[bool, typer.Option("--tokenised", help="The text is split into tokens already.")] = False,
    lowercase: Annotated[bool, typer.Option("--lowercase", help="Letter case makes no difference.")] = False,
    seed: Annotated[int, typer.Option(help="The seed of the tests; the same one gives the same numbers.")] = 12345,
    beam_size: Annotated[int, typer.Option(help="How many hypotheses models follow.")] = 4,
    length_penalty: Annotated[float, typer.Option(help="The paper's alpha, for models.")] = 0.6,
    device: Annotated[str | None, typer.Option(help="cpu or cuda, for models.")] = None,
    out: Annotated[Path | None, typer.Option(help="Write a page with all of it, such as page.html.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False,
) -> None:
    """Compare models or translations: scores, whether they differ by more than chance, and the sentences that do most.

    Every system is compared with the first. A model folder translates the test set; a file holds translations, one in
    each line. Models know their languages; without models, --source or --target, the test set is a file of references.
    """
    from regard.errors import SettingsError
    from regard.evaluation.comparison import compare
    from regard.evaluation.comparison_page import write_page
    from regard.evaluation.reading import languages_of, read_frequencies, read_held_out, read_systems
    from regard.metrics import Options
    from regard.text.pairs import Languages

    if bool(source) != bool(target):
        raise SettingsError("--source and --target: give both, or neither for a file of references alone.")
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
    console.print("± holds for 95 of 100 test sets like this one.\n", style="dim")
    for difference in comparison.differences:
        style = "bold green" if difference.better else ""
        console.print(Text(difference.in_words(), style=style))
    console.print()
    for score in comparison.scores[0]:
        console.print(Text(f"{score.title}: {score.signature}", style="dim"), soft_wrap=True)
    for remark in comparison.remarks:
        console.print(Text(f"\n{remark}"))
    if out:
        console.print(Text(f"\nThe sentences that differ most, and more: {out}"))


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
