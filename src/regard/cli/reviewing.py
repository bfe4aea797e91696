"""What `regard translate` tells about its checks: a summary at the end, a page on request, and the exit status."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from regard.cli.output import print_json
from regard.errors import RegardError, TextError

if TYPE_CHECKING:
    from regard.text.memory import Match
    from regard.translation.documents import Report
    from regard.translation.translator import Translation

_FOUND = 3  # the exit status of --strict where the checks found something


class Reviewing:
    """Collects what the checks find. `checks` is None where the model decides whether there are any."""

    def __init__(self, *, checks: bool | None, page: Path | None, strict: bool, force: bool) -> None:
        from regard.translation.review import Review

        if page and page.exists() and not force:
            raise TextError(f"{page}: this file already exists.\n  Give --force to overwrite it.")
        self.checks, self._page, self._strict, self._review = checks, page, strict, Review()

    def line(self, number: int, found: Translation) -> None:
        """A line was translated."""
        from regard.translation.review import Segment

        self._review.add(
            Segment(
                where=f"line {number}",
                source=found.source,
                text=found.text,
                confidence=found.confidence,
                findings=found.findings,
                refused=found.refused,
            )
        )

    @property
    def shows_near(self) -> bool:
        """Whether near matches of a translation memory are shown on a page."""
        return self._page is not None

    def near(self, number: int, found: Translation, matches: Sequence[Match]) -> None:
        """What a translation memory has for a line."""
        from regard.translation.review import Near

        if matches:
            near = Near(
                where=f"line {number}",
                line=number,
                part="",
                source=found.source,
                text=found.text,
                matches=tuple(matches),
            )
            self._review.offer([near])

    def document(self, report: Report) -> None:
        """A document was translated."""
        self._review.offer(report.near)
        self._review.add_document(report.translated + len(report.refused), report.worth_a_look)

    def end(self, files: Sequence[Path], languages: Mapping[str, str]) -> None:
        """Tells what was found, and ends the command if this counts as an error."""
        told = self._review.summary()
        if told:
            hint = "" if self._page else " Give --report page.html to see them."
            typer.echo(f"{told}{hint}", err=True)
        if self._page:
            self._write(self._page, files, languages)
        if self._strict and self._review.found:
            raise typer.Exit(_FOUND)

    def _write(self, page: Path, files: Sequence[Path], languages: Mapping[str, str]) -> None:
        from regard.files import write
        from regard.translation.review_page import review_page

        names = ", ".join(path.name for path in files[:3]) + (" and more" if len(files) > 3 else "")
        title = f"Checks: {names}" if names != "-" else "Checks"
        write(page, review_page(self._review, title=title, languages=languages))
        typer.echo(f"Written: {page}", err=True)


def tell(report: Report, target: Path | None, *, as_json: bool) -> None:
    """What became of a document, as a sentence on standard error or an object on standard output."""
    if as_json:
        print_json(asdict(report) | {"out": str(target)}, indent=None)
        return
    told = f"{report.path}: {report.translated:,} of {report.segments:,} segments translated"
    told += f", {report.remembered:,} of them from the memory" if report.remembered else ""
    typer.echo(f"{told}, {report.kept:,} left unchanged." if report.kept else f"{told}.", err=True)
    for line, part in zip(report.refused, report.refused_parts, strict=True):
        place = f"{report.path}, {part}, paragraph {line}" if part else f"{report.path}:{line}"
        what = "left unchanged, because no translation passed the checks."
        typer.echo(f"{place}: {what}", err=True)


def tell_failures(failed: Sequence[RegardError], files: int) -> None:
    """Tells which of so many files could not be translated, if any, and ends the command."""
    if not failed:
        return
    typer.echo(f"{len(failed):,} of {files:,} files could not be translated:", err=True)
    for error in failed:
        typer.echo(f"{error}", err=True)
    raise typer.Exit(1)
