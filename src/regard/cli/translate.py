"""`regard translate`: lines in, lines out, in order; or whole documents in their own format."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from regard.cli import interruption, planning, sharding, transcribing
from regard.cli import translate_options as option
from regard.cli.bar import bar
from regard.cli.jobs import STANDARD_INPUT, Job, jobs
from regard.cli.lines import Lines
from regard.cli.opening import Opening
from regard.cli.options import BeamSize, Device, Encoding, Engine, LengthPenalty, Model
from regard.cli.reviewing import Reviewing, tell, tell_failures
from regard.errors import RegardError, SettingsError

if TYPE_CHECKING:
    from regard.search import SearchSettings
    from regard.text.documents import SegmentState
    from regard.text.memory import Memory
    from regard.translation.translator import Translator

_WINDOW = 2048  # lines of a file that are held: the Translator works on several parts of them side by side


def command(
    model: Model,
    files: option.Files = None,
    out: option.Out = None,
    format_: option.DocumentFormat = None,
    encoding: Encoding = None,
    memory: option.Memory = None,
    dry_run: option.DryRun = False,
    all_: option.All = False,
    unfinished: option.Unfinished = False,
    mark: option.Mark = True,
    force: option.Force = False,
    beam_size: BeamSize = 4,
    length_penalty: LengthPenalty = None,
    n_best: option.NBest = 1,
    sample: option.Sample = False,
    temperature: option.Temperature = None,
    top_k: option.TopK = None,
    top_p: option.TopP = None,
    seed: option.Seed = None,
    glossary: option.Glossary = None,
    ensemble: option.Ensemble = None,
    alignment: option.Alignment = False,
    json_: option.Json = False,
    checks: option.Checks = True,
    report: option.ReportPage = None,
    strict: option.Strict = False,
    engine: Engine = "auto",
    device: Device = None,
    shards: option.Shards = None,
    shard_lines: option.ShardLines = 5000,
    lease_seconds: option.LeaseSeconds = 60.0,
    ray: option.Ray = None,
) -> None:
    """Translate text line by line, or whole documents in their own format."""
    draws = {"temperature": temperature, "top_k": top_k, "top_p": top_p, "seed": seed}
    search = _search(beam_size, length_penalty, n_best, sample=sample, draws=draws)
    if transcribing.reads_vectors(model):
        given = {"--out": out, "--memory": memory, "--glossary": glossary, "--shards": shards, "--report": report}
        own = length_penalty is None
        transcribing.transcribe(model, files, search, given, own_length_penalty=own, device=device, as_json=json_)
        return
    files = files or [STANDARD_INPUT]
    parts = sharding.options(shards, shard_lines, lease_seconds, ray, out=out)
    documents = jobs(files, out, format_, force=force or parts is not None, dry=dry_run)
    _refuse([*files, glossary, *(memory or [])], documents, n_best, alignment, json_, out, dry=dry_run)
    phrases, chosen = _glossary(glossary), _states(every=all_, unfinished=unfinished)
    review = Reviewing(checks=None if checks else False, page=report, strict=strict, force=force)
    if dry_run:
        planning.show(model, documents, memory or [], format_, encoding, chosen, as_json=json_)
        return
    opening = Opening((model, *(ensemble or ())), engine, device, search, length_penalty is None, memory or [])
    asked = sharding.Asked(phrases, format_, encoding, chosen, mark=mark, force=force, as_json=json_)
    with interruption.prompt():
        if parts:
            languages = sharding.translate(parts, documents, opening, asked, review)
        else:
            languages = _alone(opening, documents, files, asked, review, alignment=alignment)
    review.end(files, languages)


def _alone(
    opening: Opening,
    documents: list[Job],
    files: list[Path],
    asked: sharding.Asked,
    review: Reviewing,
    *,
    alignment: bool,
) -> Mapping[str, str]:
    """Translates in this process; the languages of the model."""
    translator, search, memory = opening.opened()
    if documents:
        named = (asked.glossary, asked.format, asked.encoding)
        work = _Documents(translator, search, *named, memory, review, mark=asked.mark)
        work.translate(documents, asked.states, as_json=asked.as_json)
    else:
        window = Lines(translator, search, asked.glossary, memory, review, alignment=alignment, as_json=asked.as_json)
        _lines(window, files, asked.encoding)
    return translator.languages


def _states(*, every: bool, unfinished: bool) -> Collection[SegmentState]:
    from regard.translation import documents

    return documents.EVERYTHING if every else documents.UNFINISHED if unfinished else documents.UNTRANSLATED


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


def _refuse(
    inputs: list[Path | None],
    documents: list[Job],
    n_best: int,
    alignment: bool,
    as_json: bool,
    out: Path | None,
    *,
    dry: bool,
) -> None:
    """Options that do not go together."""
    if alignment and n_best > 1 and not as_json:
        raise SettingsError("--alignment applies to the best translation only.\n  Leave --n-best out, or give --json.")
    if documents and not dry and (n_best > 1 or alignment):
        name = "--alignment" if alignment else "--n-best"
        raise SettingsError(
            f"{name} does not apply to documents, which hold one translation per segment.\n  Leave it out."
        )
    if documents and not dry and as_json and out is None:
        raise SettingsError("--json prints a report about each document, so the documents need --out.\n  Give --out.")
    if inputs.count(STANDARD_INPUT) > 1:
        raise SettingsError("-: standard input can be read only once.\n  Give - once, and file names for the rest.")


def _glossary(path: Path | None) -> dict[str, str] | None:
    from regard.text import glossaries

    return glossaries.read(path) if path else None


class _Documents:
    """Documents, one after the other; one that fails does not stop the others."""

    def __init__(
        self,
        translator: Translator,
        search: SearchSettings,
        glossary: Mapping[str, str] | None,
        format_: str | None,
        encoding: str | None,
        memory: Memory | None,
        review: Reviewing,
        *,
        mark: bool,
    ) -> None:
        self._translator, self._search, self._glossary = translator, search, glossary
        self._format, self._encoding, self._memory, self._mark = format_, encoding, memory, mark
        self._review = review

    def translate(self, jobs: list[Job], states: Collection[SegmentState], *, as_json: bool) -> None:
        failed: list[RegardError] = []
        for job in jobs:
            try:
                self._one(job, states, as_json=as_json)
            except RegardError as failure:
                if len(jobs) == 1:
                    raise
                failed.append(failure)
        copied = sum(job.copied for job in jobs)
        if copied:
            typer.echo(f"{copied:,} files of other kinds copied unchanged.", err=True)
        tell_failures(failed, len(jobs))

    def _one(self, job: Job, states: Collection[SegmentState], *, as_json: bool) -> None:
        from regard.files import new_file
        from regard.text.files import replacing
        from regard.translation import documents

        if job.target is not None:
            job.target.parent.mkdir(parents=True, exist_ok=True)
        if job.copied and job.target is not None:
            with new_file(job.target) as file:
                file.write(job.path.read_bytes())
            return
        with bar(job.path.name, shown=job.target is not None or not sys.stdout.isatty()) as progress:
            written, report = documents.translated_document(
                self._translator,
                job.path,
                format=self._format,
                states=states,
                marked=self._mark,
                search=self._search,
                glossary=self._glossary,
                progress=progress,
                encoding=self._encoding,
                memory=self._memory,
                checks=self._review.checks,
            )
        if job.target is None:
            sys.stdout.buffer.write(written)
            sys.stdout.flush()
        else:
            with replacing(job.target) as file:
                file.write(written)
        tell(report, job.target, as_json=as_json)
        self._review.document(report)


def _lines(window: Lines, files: list[Path], encoding: str | None) -> None:
    from regard.text.files import count_lines

    total = None if STANDARD_INPUT in files else sum(count_lines(path) or 0 for path in files)
    sys.stdout.reconfigure(encoding="utf-8", newline="\n")  # type: ignore[union-attr]
    with bar("lines", shown=STANDARD_INPUT not in files and not sys.stdout.isatty()) as progress:
        for texts in _windows(files, encoding):
            for number, shown in window.shown(texts):
                print(shown, flush=True)  # noqa: T201
                progress(number, total)


def _windows(files: list[Path], encoding: str | None) -> Iterator[list[str]]:
    """The lines of the files in order, some at a time."""
    from regard.cli import standard_input
    from regard.text.bad_input import BadInput
    from regard.text.files import lines

    for path in files:
        if path == STANDARD_INPUT:
            yield from standard_input.windows(encoding)
            continue
        rest = (line for line in lines(path, BadInput(), encoding) if line is not None)
        while window := list(islice(rest, _WINDOW)):
            yield window
