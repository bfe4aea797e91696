"""`regard translate`: lines in, lines out, in order; or whole documents in their own format."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from regard.cli import interruption
from regard.cli.options import BeamSize, Device, Engine, LengthPenalty, Model
from regard.cli.output import print_json
from regard.errors import SettingsError, TextError

if TYPE_CHECKING:
    from regard.search import SearchSettings
    from regard.translation.documents import Report
    from regard.translation.translator import Translation, Translator


_STANDARD_INPUT = Path("-")


def command(
    model: Model,
    files: Annotated[
        list[Path] | None, typer.Argument(help="Text files or documents; - is standard input (default).")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Output file; for several files, a folder.")] = None,
    format_: Annotated[
        str | None, typer.Option("--format", help="po, xliff, tmx, srt, vtt, md or txt (default: from the name).")
    ] = None,
    all_: Annotated[bool, typer.Option("--all", help="In documents: also replace existing translations.")] = False,
    unfinished: Annotated[
        bool, typer.Option(help="In documents: also replace unfinished translations (fuzzy, needs-...).")
    ] = False,
    mark: Annotated[bool, typer.Option(help="In documents: mark translations for review (fuzzy, ...).")] = True,
    force: Annotated[bool, typer.Option(help="Overwrite existing files.")] = False,
    beam_size: BeamSize = 4,
    length_penalty: LengthPenalty = None,
    n_best: Annotated[
        int, typer.Option(help="Print the N best translations of each line: line number, score, text.")
    ] = 1,
    sample: Annotated[bool, typer.Option(help="Sample tokens instead of searching for the best translation.")] = False,
    temperature: Annotated[
        float | None, typer.Option(help="With --sample: temperature; below 1 favours likely tokens.")
    ] = None,
    top_k: Annotated[int | None, typer.Option(help="With --sample: only the k likeliest tokens.")] = None,
    top_p: Annotated[
        float | None, typer.Option(help="With --sample: only the likeliest tokens, up to this total probability.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="With --sample: random seed.")] = None,
    glossary: Annotated[
        Path | None, typer.Option(help="Glossary: on each line a source phrase, a tab, its translation.")
    ] = None,
    ensemble: Annotated[list[Path] | None, typer.Option(help="Another model for an ensemble; may be repeated.")] = None,
    alignment: Annotated[bool, typer.Option(help="Append the word alignment after a tab: 0-0 1-2.")] = False,
    json_: Annotated[bool, typer.Option("--json", help="Print one JSON object per line or document.")] = False,
    engine: Engine = "auto",
    device: Device = None,
) -> None:
    """Translate text line by line, or whole documents in their own format."""
    draws = {"temperature": temperature, "top_k": top_k, "top_p": top_p, "seed": seed}
    search = _search(beam_size, length_penalty, n_best, sample=sample, draws=draws)
    files = files or [_STANDARD_INPUT]
    jobs = _jobs(files, out, format_, force=force)
    if alignment and n_best > 1 and not json_:
        raise SettingsError("--alignment applies to the best translation only.\n  Leave --n-best out, or give --json.")
    if jobs:
        _refuse_for_documents(n_best, alignment=alignment, as_json=json_, out=out)
    if [*files, glossary].count(_STANDARD_INPUT) > 1:
        raise SettingsError("-: standard input can be read only once.\n  Give - once, and file names for the rest.")
    phrases = _glossary(glossary)
    translator = _loaded([model, *(ensemble or [])], device, engine)
    if length_penalty is None:
        search = search.model_copy(update={"length_penalty": translator.default_search.length_penalty})
    with interruption.prompt():
        if jobs:
            documents = _Documents(translator, search, phrases, format_, mark=mark)
            documents.translate(jobs, every=all_, unfinished=unfinished, as_json=json_)
        else:
            _lines(translator, files, search, phrases, alignment=alignment, as_json=json_)


def _search(
    beam_size: int, length_penalty: float | None, n_best: int, *, sample: bool, draws: Mapping[str, float | None]
) -> SearchSettings:
    from regard.search import SearchSettings

    given = {name: value for name, value in draws.items() if value is not None}
    if given and not sample:
        name = "--" + next(iter(given)).replace("_", "-")
        raise SettingsError(f"{name} applies to sampling only.\n  Add --sample.")
    options: dict[str, Any] = {"beam_size": beam_size, "n_best": n_best}
    if length_penalty is not None:
        options["length_penalty"] = length_penalty
    method = {"method": "sampling"} if sample else {}
    return SearchSettings.read(options | method | given, where="options")


def _jobs(files: list[Path], out: Path | None, format_: str | None, *, force: bool) -> list[tuple[Path, Path | None]]:
    """Which documents are to be written where, None for standard output; none at all where lines are translated."""
    from regard.text.documents import by_name, by_path
    from regard.translation.documents import format_of

    if format_:
        by_name(format_)
    found = [by_path(path) for path in files]
    if not (out or format_ or any(document and document.name != "txt" for document in found)):
        return []
    for path in files:
        if path != _STANDARD_INPUT and not path.is_file():
            raise TextError(f"{path}: there is no such file.\n  Check the path and the name.")
        if not format_:
            format_of(path)
    return _targets(files, out, force=force)


def _targets(files: list[Path], out: Path | None, *, force: bool) -> list[tuple[Path, Path | None]]:
    if out is None:
        if len(files) > 1:
            raise SettingsError("several documents cannot be written to standard output.\n  Give a folder with --out.")
        return [(files[0], None)]
    if len(files) == 1 and not out.is_dir():
        targets = [out]
    elif out.exists() and not out.is_dir():
        raise SettingsError(f"{out}: this is a file, and several documents need a folder.\n  Name a folder with --out.")
    else:
        targets = [out / (path.with_suffix(".po") if path.suffix == ".pot" else path).name for path in files]
    for number, target in enumerate(targets):
        if target in targets[:number]:
            raise SettingsError(
                f"{target}: two documents would be written to this file.\n  Translate them one at a time."
            )
        if target.exists() and not force:
            raise TextError(f"{target}: this file already exists.\n  Give --force to overwrite it.")
    return list(zip(files, targets, strict=True))


def _refuse_for_documents(n_best: int, *, alignment: bool, as_json: bool, out: Path | None) -> None:
    if n_best > 1 or alignment:
        name = "--alignment" if alignment else "--n-best"
        raise SettingsError(
            f"{name} does not apply to documents, which hold one translation per segment.\n  Leave it out."
        )
    if as_json and out is None:
        raise SettingsError("--json prints a report about each document, so the documents need --out.\n  Give --out.")


def _glossary(path: Path | None) -> dict[str, str] | None:
    from regard.text import glossaries

    return glossaries.read(path) if path else None


def _loaded(folders: list[Path], device: str | None, engine: str) -> Translator:
    from regard.translation.translator import load

    return load(folders if len(folders) > 1 else folders[0], device=device, engine=engine)


class _Documents:
    """Documents, one after the other."""

    def __init__(
        self,
        translator: Translator,
        search: SearchSettings,
        glossary: Mapping[str, str] | None,
        format_: str | None,
        *,
        mark: bool,
    ) -> None:
        self._translator, self._search, self._glossary = translator, search, glossary
        self._format, self._mark = format_, mark

    def translate(self, jobs: list[tuple[Path, Path | None]], *, every: bool, unfinished: bool, as_json: bool) -> None:
        from regard.text.files import replacing
        from regard.translation import documents

        states = documents.EVERYTHING if every else documents.UNFINISHED if unfinished else documents.UNTRANSLATED
        for path, target in jobs:
            with _bar(path.name, shown=target is not None or not sys.stdout.isatty()) as progress:
                written, report = documents.translated_document(
                    self._translator,
                    path,
                    format=self._format,
                    states=states,
                    marked=self._mark,
                    search=self._search,
                    glossary=self._glossary,
                    progress=progress,
                )
            if target is None:
                sys.stdout.buffer.write(written)
                sys.stdout.flush()
            else:
                target.parent.mkdir(parents=True, exist_ok=True)
                with replacing(target) as file:
                    file.write(written)
            self._tell(report, target, as_json=as_json)

    def _tell(self, report: Report, target: Path | None, *, as_json: bool) -> None:
        if as_json:
            print_json(asdict(report) | {"out": str(target)}, indent=None)
            return
        told = f"{report.path}: {report.translated:,} of {report.segments:,} segments translated"
        typer.echo(f"{told}, {report.kept:,} left unchanged." if report.kept else f"{told}.", err=True)
        for line in report.refused:
            what = "left unchanged, because its translation lost a placeholder or all its words."
            typer.echo(f"{report.path}:{line}: {what}", err=True)


def _lines(
    translator: Translator,
    files: list[Path],
    search: SearchSettings,
    glossary: Mapping[str, str] | None,
    *,
    alignment: bool,
    as_json: bool,
) -> None:
    from regard.text.files import count_lines

    total = None if _STANDARD_INPUT in files else sum(count_lines(path) or 0 for path in files)
    sys.stdout.reconfigure(encoding="utf-8", newline="\n")  # type: ignore[union-attr]
    number = 0
    with _bar("lines", shown=_STANDARD_INPUT not in files and not sys.stdout.isatty()) as progress:
        for window in _windows(files):
            stream = translator.stream(window, search=search, alignment=alignment, logprobs=as_json, glossary=glossary)
            for found in stream:
                number += 1
                print(_shown(number, found, alignment=alignment, as_json=as_json), flush=True)  # noqa: T201
                progress(number, total)


def _windows(files: list[Path]) -> Iterator[list[str]]:
    """The lines of the files in order, some hundred at a time."""
    from regard.cli import standard_input
    from regard.text.bad_input import BadInput
    from regard.text.files import lines

    for path in files:
        if path == _STANDARD_INPUT:
            yield from standard_input.windows()
            continue
        rest = (line for line in lines(path, BadInput()) if line is not None)
        while window := list(islice(rest, standard_input.WINDOW)):
            yield window


def _shown(number: int, found: Translation, *, alignment: bool, as_json: bool) -> str:
    if as_json:
        return json.dumps(asdict(found), ensure_ascii=False)
    if found.alternatives:
        return "\n".join(f"{number}\t{other.score:.4f}\t{other.text}" for other in found.alternatives)
    if alignment:
        return found.text + "\t" + " ".join(f"{source}-{target}" for source, target in found.alignment)
    return found.text


@contextmanager
def _bar(what: str, *, shown: bool) -> Iterator[Callable[[int, int | None], None]]:
    """A bar on standard error, where that is a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not (shown and console.is_terminal)) as progress:
        task = progress.add_task(what, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)
