"""`regard translate --dry-run`: what would be translated, without loading the model."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from regard.cli import memories
from regard.cli.jobs import STANDARD_INPUT, Job, known
from regard.cli.output import print_json
from regard.errors import RegardError

if TYPE_CHECKING:
    from regard.text.documents import SegmentState
    from regard.translation.documents import Plan


def show(
    model: Path,
    jobs: list[Job],
    memory: list[Path],
    format_: str | None,
    encoding: str | None,
    states: Collection[SegmentState],
    *,
    as_json: bool,
) -> None:
    """Print a line for each document, then the sums; files of no known format are listed as such."""
    from regard import modelfolder, shipped
    from regard.translation.documents import plan_document

    languages = modelfolder.read_description(shipped.find(model)).languages
    remembered = memories.read(memory, languages)
    plans: list[Plan] = []
    others: list[Path] = []
    failed: list[RegardError] = []
    for job in jobs:
        if job.path != STANDARD_INPUT and not known(job.path, format_):
            others.append(job.path)
            continue
        try:
            plans.append(
                plan_document(
                    languages, job.path, format=format_, states=states, encoding=encoding, memory=remembered
                )
            )
        except RegardError as error:
            failed.append(error)
    _print(plans, others, as_json=as_json)
    for error in failed:
        typer.echo(f"{error}", err=True)
    if failed:
        raise typer.Exit(1)


def _print(plans: list[Plan], others: list[Path], *, as_json: bool) -> None:
    if as_json:
        for plan in plans:
            print_json(asdict(plan), indent=None)
        for path in others:
            print_json({"path": str(path), "format": None}, indent=None)
        return
    for plan in plans:
        typer.echo(f"{plan.path}: {plan.format}, {_amount(plan.to_translate, plan.words, plan.remembered)}")
    for path in others:
        typer.echo(f"{path}: not a document that Regard knows; it would be copied unchanged")
    sums = (sum(plan.to_translate for plan in plans), sum(plan.words for plan in plans))
    typer.echo(f"{len(plans):,} documents: {_amount(*sums, sum(plan.remembered for plan in plans))}")


def _amount(segments: int, words: int, remembered: int) -> str:
    memory = f", {remembered:,} of them in the memory" if remembered else ""
    return f"{segments:,} segments to translate, {words:,} words{memory}"
