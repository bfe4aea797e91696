"""`regard evaluate`: how good a model is on a test set, how fast it is, and how long its translations are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from regard.cli.options import (
    BeamSize,
    Columns,
    Device,
    Documents,
    Encoding,
    Engine,
    Format,
    LengthPenalty,
    Model,
    References,
    SaveTranslations,
)  # fmt: skip
from regard.cli.output import print_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from regard.evaluation.evaluate import Evaluation
    from regard.text.pairs import Languages


def command(
    model: Model,
    test: Annotated[Path, typer.Option(help="Test set: sentence pairs, or sources with --reference.")],
    reference: References = None,
    source: Annotated[str, typer.Option(help="Source language (default: the model's).")] = "",
    target: Annotated[str, typer.Option(help="Target language (default: the model's).")] = "",
    format_: Format = None,
    columns: Columns = None,
    encoding: Encoding = None,
    metrics: Annotated[str, typer.Option(help="Metrics, separated by commas (default: by the task).")] = "",
    tokenised: Annotated[bool, typer.Option("--tokenised", help="The text is already tokenised.")] = False,
    lowercase: Annotated[bool, typer.Option("--lowercase", help="Ignore case.")] = False,
    beam_size: BeamSize = 4,
    length_penalty: LengthPenalty = None,
    save_translations: SaveTranslations = None,
    device: Device = None,
    engine: Engine = "auto",
    documents: Documents = None,
    page: Annotated[Path | None, typer.Option(help="Classifiers and taggers: write a page of wrong labels.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Evaluate a model: scores with signatures, perplexity, lengths and speed.

    A language model gets its perplexity by token, word and byte, a classifier or tagger accuracy and F1. The test set
    is a file of sentence pairs in any format, or a file of sources with its references in --reference.
    """
    from regard.cli.columns import columns_of
    from regard.evaluation.evaluate import evaluate
    from regard.evaluation.reading import read_test, write_translations
    from regard.family.opening import TRANSLATION, task_of
    from regard.metrics import Options
    from regard.search import SearchSettings
    from regard.translation.translator import load

    if task_of(model) != TRANSLATION:
        _other_task(model, test, documents, columns_of(columns), device, page, save_translations, as_json=as_json)
        return
    asked = {"beam_size": beam_size} | ({} if length_penalty is None else {"length_penalty": length_penalty})
    SearchSettings.read(asked, where="options")  # before the model is loaded
    translator = load(model, device=device, engine=engine)
    search = SearchSettings.read(translator.default_search.model_dump() | asked, where="options")
    languages = _languages(model, source, target, translator.languages)
    given, more = columns_of(columns), reference or ()
    found = evaluate(
        translator,
        read_test(test, languages, references=more, format=format_, columns=given, encoding=encoding),
        name=str(model),
        metrics=[name for name in metrics.split(",") if name.strip()] or None,
        options=Options(tokenised=tokenised, lowercase=lowercase, language=languages.target),
        search=search,
    )
    if save_translations:
        write_translations(save_translations, found.translations)
    if as_json:
        print_json(found.table())
    else:
        _show(Console(highlight=False), found)


def _languages(model: Path, source: str, target: str, known: Mapping[str, str]) -> Languages:
    """The languages that were given, or those of the model."""
    from regard.errors import SettingsError
    from regard.text.pairs import Languages

    languages = Languages(source or known.get("source", ""), target or known.get("target", ""))
    if not all(languages):
        raise SettingsError(
            f"{model}: this model folder does not name its languages.\n  Give them: --source en --target de"
        )
    return languages


def _other_task(
    model: Path,
    test: Path,
    documents: str | None,
    columns: tuple[int | str, int | str] | None,
    device: str | None,
    page: Path | None,
    save: Path | None,
    *,
    as_json: bool,
) -> None:
    """A language model, a masked model, a classifier or a tagger."""
    from regard.errors import SettingsError
    from regard.evaluation.confusion_page import write_confusion
    from regard.evaluation.other_tasks import measure
    from regard.evaluation.reading import write_translations

    documents = documents or "auto"
    if documents not in ("auto", "lines", "paragraphs", "files"):
        raise SettingsError(f"--documents {documents}: expected auto, lines, paragraphs or files.")
    found = measure(model, test, device=device, how=documents, columns=columns)  # type: ignore[arg-type]
    if save:
        write_translations(save, found.predicted)
    if page and found.labels:
        write_confusion(page, found)
    if as_json:
        print_json(found.table())
        return
    console = Console(highlight=False)
    console.print(Text(f"{model} on {test}, {found.examples:,} examples\n", style="bold"), soft_wrap=True)
    scores = Table("metric", "score", box=None, pad_edge=False)
    for name, value in found.scores.items():
        scores.add_row(name.replace("_", " "), f"{value:.4f}" if value < 10 else f"{value:.2f}")
    console.print(scores)
    if found.labels:
        table = Table("label", "precision", "recall", "F1", "count", box=None, pad_edge=False)
        for label, row in found.details.items():
            shares = (f"{row[key]:.2f}" for key in ("precision", "recall", "f1"))
            table.add_row(Text(label), *shares, f"{row['there']:,}")
        console.print()
        console.print(table)


def _show(console: Console, found: Evaluation) -> None:
    console.print(Text(f"{found.model} on {found.held_out}, {found.lines:,} sentences\n", style="bold"), soft_wrap=True)
    scores = Table("metric", "score", "signature", box=None, pad_edge=False)
    for score in found.scores:
        arrow = "↑" if score.higher_is_better else "↓"
        scores.add_row(f"{score.title} {arrow}", f"{score.value:.2f}", Text(score.signature, style="dim"))
    console.print(scores, soft_wrap=True)
    lengths, speed = found.lengths, found.speed
    fast = f"{speed.sentences_per_second:,.1f} sentences/s, {speed.tokens_per_second:,.0f} tokens/s"
    facts = [
        f"perplexity {found.perplexity:.2f}" if found.perplexity is not None else "",
        f"source worth {found.source_worth:.2f} nats a token" if found.source_worth is not None else "",
        f"{lengths.hypothesis_words:,} words, references {lengths.reference_words:,}: ratio {lengths.ratio:.3f}",
        f"{lengths.empty:,} translations are empty" if lengths.empty else "",
        f"{lengths.length_limited:,} translations reached the length limit and may be cut off"
        if lengths.length_limited
        else "",
        f"{lengths.repetition_stopped:,} translations repeated themselves and were stopped"
        if lengths.repetition_stopped
        else "",
        (
            f"{fast}: {speed.seconds:.1f} s, beam {found.search.beam_size}, "
            f"length penalty {found.search.length_penalty:g}, engine {found.engine}"
        ),
    ]
    console.print()
    for fact in filter(None, facts):
        console.print(Text(fact), soft_wrap=True)
    for remark in found.remarks:
        console.print(Text(f"\n{remark}"))
