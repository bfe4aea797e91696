"""`regard translate --shards`: its options, the work itself, and the summary at the end."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import typer

from regard.cli.bar import bar
from regard.cli.jobs import STANDARD_INPUT, Job
from regard.cli.reviewing import tell, tell_failures
from regard.errors import SettingsError

if TYPE_CHECKING:
    from regard.cli.opening import Opening
    from regard.cli.reviewing import Reviewing
    from regard.shards.asked import About
    from regard.shards.folder import ShardFolder, Source
    from regard.shards.leases import Leases
    from regard.shards.plan import Plan
    from regard.shards.working import Failed, How, Progress
    from regard.text.documents import SegmentState

    Work = Callable[[ShardFolder, Plan, Leases, How, Progress], Failed]


class Options(NamedTuple):
    """Where the shards are, how large they are, and who works on them."""

    folder: Path
    lines: int
    lasts: float
    ray: str | None
    out: Path


class Asked(NamedTuple):
    """What is asked of documents."""

    glossary: Mapping[str, str] | None
    format: str | None
    encoding: str | None
    states: Collection[SegmentState]
    mark: bool
    force: bool
    as_json: bool


def options(folder: Path | None, lines: int, lasts: float, ray: str | None, *, out: Path | None) -> Options | None:
    """The options for shards; None where there are to be none."""
    if folder is None:
        if ray:
            raise SettingsError("--ray works on shards.\n  Name a folder for them with --shards.")
        return None
    if out is None:
        raise SettingsError("--shards puts the translation together at the end.\n  Name its file with --out.")
    return Options(folder, lines, lasts, ray, out)


def translate(
    parts: Options, jobs: Sequence[Job], opening: Opening, asked: Asked, review: Reviewing
) -> Mapping[str, str]:
    """Works until all shards are done and the output is there; gives the languages of the model."""
    from regard.shards import assembling
    from regard.shards.asked import asked as all_that_was_asked
    from regard.shards.folder import ShardFolder
    from regard.shards.leases import Leases

    folder = ShardFolder(parts.folder)
    sources = _sources(jobs, parts.out, asked.format, folder)
    with _team(opening, parts.ray) as (about, work), Leases(folder.leases, lasts=parts.lasts) as leases:
        how = _how(opening, asked, about, review)
        every = all_that_was_asked(about, how, sources, memories=opening.memories, lines=parts.lines)
        plan = folder.planned(sources, every, leases, lines=parts.lines, encoding=asked.encoding, say=_say)
        if not asked.force:
            assembling.refuse_to_overwrite(folder, plan, parts.out)
        with bar("lines", shown=True) as progress:
            failed = work(folder, plan, leases, how, progress)
        assembling.assemble(folder, plan, leases, parts.out, force=asked.force, besides=failed)
        _tell_all(folder, plan, parts.out, review, failed, as_json=asked.as_json)
    return about.languages


def _say(message: str) -> None:
    typer.echo(message, err=True)


@contextmanager
def _team(opening: Opening, ray: str | None) -> Iterator[tuple[About, Work]]:
    """What is to be known about the model, and what works: this process, or actors on a Ray cluster."""
    if ray:
        from regard.shards import over_ray

        with over_ray.cluster(ray, opening.models, opening.engine, opening.device, _say) as team:
            yield team.about(), team.work
        return
    from regard.shards import working
    from regard.shards.asked import about

    translator = opening.translator()

    def work(folder: ShardFolder, plan: Plan, leases: Leases, how: How, progress: Progress) -> Failed:
        return working.work(folder, plan, leases, translator, how, progress)

    yield about(translator), work


def _sources(jobs: Sequence[Job], out: Path, format_: str | None, folder: ShardFolder) -> list[Source]:
    """The files, text by lines and documents as they are; `jobs` decides where they go."""
    from regard.cli import standard_input
    from regard.shards.folder import Source
    from regard.shards.plan import Kind
    from regard.text.documents import by_name
    from regard.translation.documents import format_of

    found = []
    for path, target, copied in jobs:
        assert target, "there is an --out"
        if copied:
            kind = Kind.COPIED
        else:
            name = (by_name(format_) if format_ else format_of(path)).name
            kind = Kind.TEXT if name == "txt" else Kind.DOCUMENT
        place = folder.keep_input(standard_input.blocks()) if path == STANDARD_INPUT else path
        found.append(Source(place, target.relative_to(out).as_posix(), kind))
    return found


def _how(opening: Opening, asked: Asked, about: About, review: Reviewing) -> How:
    from regard.shards.working import How

    return How(
        search=opening.search_with(about.length_penalty),
        glossary=asked.glossary,
        memory=opening.memory(about.languages),
        checks=review.checks,
        states=asked.states,
        marked=asked.mark,
        format=asked.format,
        encoding=asked.encoding,
    )


def _tell_all(folder: ShardFolder, plan: Plan, out: Path, review: Reviewing, failed: Failed, *, as_json: bool) -> None:
    """What became of all files, as if this process had translated them alone."""
    from regard.shards import assembling

    for report, file in assembling.reports(folder, plan, besides=failed):
        tell(report, assembling.target_of(file, out), as_json=as_json)
        review.document(report)
    copied = sum(not file.shards for file in plan.files)
    if copied:
        typer.echo(f"{copied:,} files of other kinds copied unchanged.", err=True)
    tell_failures(list(failed.values()), len(plan.files))
