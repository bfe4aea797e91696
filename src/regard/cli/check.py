"""`regard check`: what is wrong with a corpus, what it is like, and what to train on it."""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from regard.cli.columns import columns_of
from regard.cli.options import Columns, Encoding
from regard.cli.output import print_json

if TYPE_CHECKING:
    from typing import Any

    from regard.text.inspection.findings import Finding
    from regard.text.inspection.inspect import Corpus, Inspection
    from regard.text.inspection.languages import Profile
    from regard.text.inspection.statistics import SideStatistics
    from regard.text.tally import Tally
    from regard.training.advice import Advice
    from regard.training.machine.estimate import Estimate
    from regard.training.outlook import Outlook

_SHOWN = 5  # places of a finding


def command(
    data: Annotated[list[str], typer.Argument(help="Sentence pairs: files, folders, patterns or stems.")],
    source: Annotated[str, typer.Option(help="Source language, such as en.")],
    target: Annotated[str, typer.Option(help="Target language, such as de.")],
    test: Annotated[list[str] | None, typer.Option(help="Test set to look for in the data; may be repeated.")] = None,
    format: Annotated[str | None, typer.Option(help="Format of the files (default: from their names).")] = None,  # noqa: A002
    columns: Columns = None,
    encoding: Encoding = None,
    test_columns: Annotated[str | None, typer.Option(help="Columns of the test sets.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Check a corpus: list its problems with line numbers, describe it and recommend a model.

    Exit status:

    0  the corpus is ready for training

    1  a problem stops training (bad lines or files) or makes its results wrong
    (test pairs in the data, swapped sides, another language)

    2  an option is invalid
    """
    from regard.text.cleaning import CleaningSettings
    from regard.text.inspection.findings import Gravity, findings
    from regard.text.inspection.inspect import Corpus, look_through
    from regard.text.pairs import Languages

    languages = Languages(source, target)
    corpus = Corpus(tuple(data), languages, format, columns_of(columns), encoding)
    tests = Corpus(tuple(test), languages, None, columns_of(test_columns, "--test-columns"), encoding) if test else None
    with Console(stderr=True).status("Reading ...") as status:
        found = look_through(
            corpus,
            tests=tests,
            cleaning=CleaningSettings(),
            progress=lambda pairs: status.update(f"Reading ... {pairs:,} pairs"),
        )
        outlook = None
        if found.cleaning.kept:
            from regard.training.outlook import outlook_for  # torch takes a while

            status.update("Measuring this machine ...")
            outlook = outlook_for(found.cleaning.kept, source=found.source, target=found.target, languages=languages)
    listed = findings(found)
    ready = all(finding.gravity is Gravity.NOTE for finding in listed)
    follows = _next(corpus, listed, outlook.advice if outlook else None)
    if as_json:
        print_json(_object(found, listed, outlook, ready=ready) | {"next": follows})
    else:
        _show(Console(), found, listed, outlook, ready=ready)
        if follows:
            Console().print(Text.assemble("Next command:\n  ", (follows, "cyan")), soft_wrap=True)
    raise typer.Exit(0 if ready else 1)


def _next(corpus: Corpus, listed: list[Finding], advice: Advice | None) -> str | None:
    """The command to type next: to train, without bad lines where that is all that stops it; None after worse."""
    from regard.text.corpus import reading_options
    from regard.text.inspection.findings import Gravity, exchanged

    swapped = next((finding for finding in listed if finding.kind == "sides_swapped"), None)
    if swapped:
        return exchanged(corpus, swapped.tally.places[0][0])
    bad = [finding for finding in listed if finding.gravity is Gravity.STOPS]
    worse = any(finding.gravity is Gravity.WRONG or finding.kind == "one_pair" for finding in listed)
    if advice is None or worse:
        return None
    data = " ".join(quote(item) for item in corpus.data)
    options = reading_options(corpus.languages, format=corpus.format, columns=corpus.columns, encoding=corpus.encoding)
    adapt = f" --from {advice.start_from}" if advice.start_from else ""
    return f"regard train {data} {options}{adapt}{' --skip-bad' if bad else ''} --out my-model"


def _object(found: Inspection, listed: list[Finding], outlook: Outlook | None, *, ready: bool) -> dict[str, Any]:
    """Everything for programs; docs/data.md explains the keys, which stay."""
    corpus, profiles, held_out = found.corpus, found.profiles, found.held_out
    sides = {}
    for name, side, profile in (("source", found.source, profiles.source), ("target", found.target, profiles.target)):
        sides[name] = {
            "language": getattr(corpus.languages, name),
            "looks_like": profile.language(),
            "scripts": {script: round(share, 4) for script, share in profile.scripts().items()},
            "characters": side.characters.table(),
            "words": side.words.table(),
            "distinct_characters": len(side.alphabet),
            "rare_characters": len(side.rare()),
        }
    return {
        "format": 1,
        "ready": ready,
        "data": list(corpus.data),
        "pairs": {"read": found.cleaning.came_in, "kept": found.cleaning.kept},
        "test_pairs": len(held_out.pairs) if held_out else None,
        "findings": [finding.table() for finding in listed],
        "given_up": list(found.bad.given_up),
        **sides,
        "length_ratio": round(_ratio(found), 3),
        "advice": outlook.advice.table() if outlook else None,
        "estimate": outlook.needs.table() if outlook else None,
        "minutes": [each.table() for each in outlook.within] if outlook else None,
    }


def _show(
    console: Console,
    found: Inspection,
    listed: list[Finding],
    outlook: Outlook | None,
    *,
    ready: bool,
) -> None:
    """Everything for people."""
    console.print(f"[bold]{found.cleaning.came_in:,} pairs[/] read, {found.cleaning.kept:,} kept")
    if found.cleaning.kept:
        console.print(_sides(found))
    if listed:
        console.print("\n[bold]Findings[/]")
        console.print(_findings(listed))
        for message in found.bad.given_up[:_SHOWN]:
            console.print(f"  not read to the end: {escape(message)}", highlight=False)
    if outlook:
        advice = outlook.advice
        console.print(f"\n[bold]Advice[/]: preset {advice.preset}, dropout {advice.dropout}, {_tokeniser(advice)}")
        for reason in advice.reasons:
            console.print(f"  {reason}", highlight=False)
        for line in _estimate(outlook.needs):
            console.print(line, highlight=False)
        console.print("[bold]What to expect[/] with --minutes on this machine:")
        for each in outlook.within:
            console.print(f"  {each}", highlight=False)
    console.print("\n[green]Ready for training." if ready else "\n[red]Not ready: see the findings in red.")


def _estimate(needs: Estimate) -> list[str]:
    size = f"{needs.parameters / 1e6:.1f} million parameters, {needs.memory / 2**30:.1f} GiB of memory"
    work = f"{_duration(needs.seconds)} for at most {needs.steps:,} steps ({needs.epochs:,.0f} epochs)"
    speed = f"a matrix product measured on {needs.device} in {needs.precision}: {needs.speed / 1e9:,.0f} GFLOP/s"
    return [f"[bold]Estimate[/]: {size}, {work} on this machine", f"  A rough estimate, from {speed}."]


_ROWS = (
    "characters",
    "  mean per line",
    "  median",
    "  90%",
    "  longest",
    "words",
    "  mean per line",
    "  longest",
    "distinct characters",
    "looks like",
)


def _sides(found: Inspection) -> Table:
    languages, profiles = found.corpus.languages, found.profiles
    table = Table("", f"source {languages.source}", f"target {languages.target}", box=None, pad_edge=False)
    columns = [
        [*_figures(side), _looks(profile)]
        for side, profile in ((found.source, profiles.source), (found.target, profiles.target))
    ]
    for row in zip(_ROWS, *columns, strict=True):
        table.add_row(*row)
    for column in table.columns[1:]:
        column.justify = "right"
    return table


def _looks(profile: Profile) -> str:
    scripts = "+".join(script for script, share in profile.scripts().items() if share >= 0.01)
    return ", ".join(part for part in (profile.language(), scripts) if part)


def _figures(side: SideStatistics) -> list[str]:
    lengths, words = side.characters, side.words
    rare = len(side.rare())
    return [
        f"{lengths.total:,}",
        f"{lengths.mean:,.1f}",
        *(f"{lengths.quantile(share):,}" for share in (0.5, 0.9)),
        f"{lengths.longest:,}",
        f"{words.total:,}",
        f"{words.mean:,.1f}",
        f"{words.longest:,}",
        f"{len(side.alphabet):,}" + (f" ({rare:,} rare)" if rare else ""),
    ]


def _findings(listed: list[Finding]) -> Table:
    table = Table(box=None, show_header=False, padding=(0, 1))
    table.add_column(no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(overflow="fold")
    for finding in listed:
        grave = finding.gravity.name != "NOTE"
        advice = f"\n{finding.advice}" if finding.advice else ""
        table.add_row(
            f"[red]{finding.gravity.value}[/]" if grave else finding.gravity.value,
            f"{finding.tally.count:,}",
            f"{escape(finding.what)}\n[dim]{escape(_places(finding.tally))}[/]{escape(advice)}",
        )
    return table


def _places(tally: Tally) -> str:
    """`train.tsv: lines 3, 17, 20, ...`: each file once, and whole files without a line."""
    by_file: dict[str, list[int]] = {}
    for path, line in tally.places[:_SHOWN]:
        by_file.setdefault(path, []).append(line)
    files = [
        path if at == [0] else f"{path}: {_plural('line', at)} {', '.join(map(str, at))}"
        for path, at in by_file.items()
    ]
    whole_files = [0] in by_file.values()
    return "; ".join(files) + (", ..." if (len(tally.places) if whole_files else tally.count) > _SHOWN else "")


def _plural(word: str, items: list[int]) -> str:
    return word if len(items) == 1 else f"{word}s"


def _tokeniser(advice: Advice) -> str:
    settings = advice.tokeniser
    if settings.is_joint:
        return f"{settings.kind}, vocabulary {settings.vocabulary:,}"
    vocabularies = f"{settings.vocabulary:,} and {settings.target_vocabulary:,}"
    return f"{settings.kind} to {settings.target_kind}, vocabularies {vocabularies}"


def _ratio(found: Inspection) -> float:
    """How much longer the target is than the source, in characters."""
    return found.target.characters.total / max(1, found.source.characters.total)


def _duration(seconds: float) -> str:
    for unit, length in (("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f"about {seconds / length:,.0f} {unit}"
    return "about a minute" if seconds > 30 else "less than a minute"
