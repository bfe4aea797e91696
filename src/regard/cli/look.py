"""`regard look`: what a model looks at, what its heads do, and what it is without them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from regard.cli.options import Device, Model
from regard.cli.output import print_json
from regard.files import write

if TYPE_CHECKING:
    from regard.insight.attention import Attention
    from regard.insight.knockout import KnockOut
    from regard.insight.sample import Sample
    from regard.translation.translator import Translator

_PAGE = Path("attention.html")
_SHORT = {"distance": "dist.", "previous": "prev.", "punctuation": "punct.", "alignment": "align."}


def command(
    model: Model,
    sentence: Annotated[str, typer.Argument(help="The sentence to look at, or a file of vectors or an image.")] = "",
    target: Annotated[str | None, typer.Option(help="Translation to look at (default: the model's own).")] = None,
    without: Annotated[str, typer.Option(help="Heads and layers to switch off: encoder.2.5,decoder-source.0")] = "",
    out: Annotated[Path | None, typer.Option(help="File of the HTML page (default: attention.html).")] = None,
    svg: Annotated[Path | None, typer.Option(help="Write the attention as an SVG figure to this file.")] = None,
    png: Annotated[Path | None, typer.Option(help="Write the figure as PNG (needs matplotlib).")] = None,
    part: Annotated[str, typer.Option(help="What the figure shows: encoder, encoder.2 (mean) or encoder.2.5.")] = "",
    pieces: Annotated[bool, typer.Option("--pieces", help="Show tokens instead of words in the figure.")] = False,
    as_json: Annotated[str, typer.Option("--json", help="Write all numbers as JSON to this file; - prints them.")] = "",
    heads: Annotated[Path | None, typer.Option(help="Measure what each head does on these sentence pairs.")] = None,
    sort: Annotated[str, typer.Option(help="Column by which --heads sorts.")] = "alignment",
    alignments: Annotated[
        Path | None, typer.Option(help="Word alignments of the pairs, one line per pair: 0-0 1-2.")
    ] = None,
    knock_out: Annotated[
        Path | None, typer.Option(help="Measure the loss on these sentence pairs without each head.")
    ] = None,
    bleu: Annotated[bool, typer.Option("--bleu", help="With --knock-out: also measure BLEU (slower).")] = False,
    sentences: Annotated[int, typer.Option(min=1, help="Largest number of pairs to read from the file.")] = 500,
    device: Device = None,
) -> None:
    """Show a model's attention for one sentence, or measure its heads over sentence pairs.

    Give one of: a sentence, --heads FILE, --knock-out FILE.
    """
    from regard.errors import SettingsError
    from regard.family.opening import TRANSLATION, load, task_of

    if [bool(sentence), heads is not None, knock_out is not None].count(True) != 1:
        raise SettingsError(
            "give exactly one of: a sentence, --heads FILE, --knock-out FILE.\n"
            '  For example: regard look my-model "Where is the station?"'
        )
    console = Console(highlight=False, stderr=as_json == "-")
    if task_of(model) != TRANSLATION:
        if not sentence:
            raise SettingsError("--heads and --knock-out need sentence pairs, and so a model that translates.")
        reader = load(model, device=device)
        seen = reader.look(sentence, without=without)
        console.print(Text(seen.translation or seen.text, style="bold"))
        _write(console, seen, out=out, svg=svg, png=png, part=part, pieces=pieces, as_json=as_json)
        return
    translator = load(model, device=device)
    if heads:
        _heads(console, translator, heads, alignments, sort=sort, out=out, as_json=as_json, sentences=sentences)
    elif knock_out:
        _knock_out(console, translator, knock_out, bleu=bleu, out=out, as_json=as_json, sentences=sentences)
    else:
        seen = translator.look(sentence, target, without=without)
        _show(console, translator, seen)
        _write(console, seen, out=out, svg=svg, png=png, part=part, pieces=pieces, as_json=as_json)


def _show(console: Console, translator: Translator, seen: Attention) -> None:
    """The translation; and where heads are switched off, what it was with them."""
    console.print(Text(seen.translation, style="bold"))
    if not seen.off:
        return
    whole = translator.look(seen.text)
    (again,) = translator.score([seen.text], [seen.translation])
    count = f"{len(seen.off)} {'head' if len(seen.off) == 1 else 'heads'}"
    same = "the same translation" if whole.translation == seen.translation else f"instead of: {whole.translation}"
    console.print(Text(f"without {count}: {same}"))
    console.print(f"log-probability: {sum(seen.logprobs):.2f} without, {again.total:.2f} with all heads", style="dim")


def _write(
    console: Console,
    seen: Attention,
    *,
    out: Path | None,
    svg: Path | None,
    png: Path | None,
    part: str,
    pieces: bool,
    as_json: str,
) -> None:
    from regard.insight.attention_page import write_page
    from regard.insight.figure import figure, write_svg
    from regard.insight.png import write_png

    if out or not (svg or png or as_json):
        size = write_page(out or _PAGE, seen)
        console.print(Text(f"{out or _PAGE} ({size / 1e6:.1f} MB): open it in a browser", style="dim"))
    if svg:
        write_svg(svg, figure(seen, part, pieces=pieces))
    if png:
        write_png(png, figure(seen, part, pieces=pieces))
    _json(as_json, seen.table())


def _heads(
    console: Console,
    translator: Translator,
    path: Path,
    alignments: Path | None,
    *,
    sort: str,
    out: Path | None,
    as_json: str,
    sentences: int,
) -> None:
    from regard.errors import SettingsError
    from regard.insight.aligned_words import read_alignments
    from regard.insight.heads import COLUMNS, by_column, head_statistics
    from regard.insight.tables import heads_page, write_page
    from regard.settings import nearest

    if sort not in COLUMNS:
        raise SettingsError(f"--sort {sort}: there is no such column; {nearest(sort, list(COLUMNS))}")
    sample = _sample(translator, path, sentences)
    links = read_alignments(alignments) if alignments else None
    found = by_column(head_statistics(translator.model, sample, device=translator.device, alignments=links), sort)
    table = Table("head", *(_SHORT.get(column, column) for column in COLUMNS), box=None, pad_edge=False)
    for column in table.columns[1:]:
        column.justify = "right"
    for each in found:
        table.add_row(str(each.head), *each.shown().values())
    console.print(table)
    about = f"Over {len(sample.sources):,} sentences of {path.name}."
    console.print(Text(f"{about} Sorted by {sort}: {COLUMNS[sort]}.", style="dim"))
    if out:
        write_page(out, heads_page(found, model=translator.name, about=about))
    _json(as_json, {"sentences": len(sample.sources), "heads": [each.table() for each in found]})


def _knock_out(
    console: Console,
    translator: Translator,
    path: Path,
    *,
    bleu: bool,
    out: Path | None,
    as_json: str,
    sentences: int,
) -> None:
    from regard.insight.knockout import knock_out
    from regard.insight.tables import in_short, knock_out_page, write_page

    sample = _sample(translator, path, sentences)
    with console.status("Testing each head"):
        found = knock_out(translator.model, sample, device=translator.device, bleu=bleu)
    console.print(_effects(found))
    console.print(Text(f"\n{in_short(found)}"))
    if out:
        about = f"Over {found.sentences:,} sentences of {path.name}."
        write_page(out, knock_out_page(found, model=translator.name, about=about))
    _json(as_json, found.table())


def _effects(found: KnockOut) -> Table:
    table = Table(
        "without", "loss", "difference", *(["BLEU"] if found.whole.bleu is not None else []), box=None, pad_edge=False
    )
    for column in table.columns[1:]:
        column.justify = "right"
    for effect in (found.whole, *found.heads):
        name = str(effect.off[0]) if effect.off else "nothing"
        more = f"{effect.loss - found.whole.loss:+.4f}" if effect.off else ""
        table.add_row(name, f"{effect.loss:.4f}", more, *([f"{effect.bleu:.1f}"] if effect.bleu is not None else []))
    return table


def _sample(translator: Translator, path: Path, sentences: int) -> Sample:
    from regard.errors import SettingsError
    from regard.insight.sample import Sample
    from regard.text import corpus
    from regard.text.pairs import Languages

    if not {"source", "target"} <= translator.languages.keys():
        raise SettingsError(
            f"{translator.name}: this model folder does not name its languages, so Regard cannot read sentence pairs "
            "for it.\n  Use a model that was trained with --source and --target."
        )
    languages = Languages(translator.languages["source"], translator.languages["target"])
    return Sample.of(corpus.read([path], languages), translator.tokenisers, sentences=sentences)


def _json(place: str, table: dict[str, Any]) -> None:
    if not place:
        return
    if place == "-":
        print_json(table, indent=None)
    else:
        write(Path(place), json.dumps(table, ensure_ascii=False) + "\n")
