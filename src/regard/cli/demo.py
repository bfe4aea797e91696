"""`regard demo`: translate, train, test and look within minutes, on any machine, without a download."""

from __future__ import annotations

import time
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Self

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from types import TracebackType

    from regard.cli.live import PlainView, TerminalView
    from regard.demo.dates import Written
    from regard.demo.tour import Seen, Solved, Translated
    from regard.training.events import Event
    from regard.training.training_settings import TrainingSettings

_SHOWN_LANGUAGES = ("fr", "en", "ru", "el", "tr", "hu", "ja", "th", "hi", "ar")


def command(
    out: Annotated[Path | None, typer.Option(help="Output folder (default: regard-demo).")] = None,
    steps: Annotated[int | None, typer.Option(min=1, help="Number of training steps.")] = None,
) -> None:
    """Train a Transformer on dates in many languages, test it and look inside it, in about two minutes."""
    from regard.demo import dates, tour

    console = Console(highlight=False)
    started = time.monotonic()
    folder = tour.new_folder(out)
    translated = _translate(console)
    shown = dates.written(date(2024, 3, 5), "fr", "EEEE d MMMM y")
    _heading(console, f"Training a model from scratch to read dates in {len(dates.LANGUAGES)} languages")
    console.print(
        f"  {shown.text}  [dim]->[/]  {shown.iso}    [dim]{tour.PAIRS:,} examples; each character is a token[/]\n"
    )
    translator = tour.train_on_dates(folder, steps=steps or tour.STEPS, view=lambda training: _Quiet(console, training))
    with console.status("Testing on new dates"):
        solved = tour.solve(translator)
    _show_solved(console, solved)
    with console.status("Reading its attention"):
        seen = tour.look_at_the_month(translator, shown, folder / "attention.html")
    _show_seen(console, shown, seen)
    _show_next(console, folder)
    console.print(f"\n[dim]The demo took {time.monotonic() - started:.0f} s.")
    failures = _failures(translated, solved, seen)
    for failure in failures:
        console.print(Text(f"The demo failed: {failure}", style="red"))
    if failures:
        raise typer.Exit(1)


class _Quiet:
    """The live view of training without its messages."""

    def __init__(self, console: Console, training: TrainingSettings) -> None:
        from regard.cli import live

        self._view: TerminalView | PlainView = live.view(console, steps=training.steps)

    def show(self, event: Event) -> None:
        """Steps, and looks at other dates."""
        from regard.training.events import Said, Saved

        if not isinstance(event, Said | Saved):
            self._view.show(event)

    def __enter__(self) -> Self:
        self._view.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        """Leaves the display as it is."""
        self._view.__exit__(kind, error, where)


def _translate(console: Console) -> list[Translated]:
    from regard.demo.tour import translate_examples

    with console.status("Translating"):
        translated = translate_examples()
    if translated:
        _heading(console, "Translating with the models that come with Regard")
        table = Table.grid(padding=(0, 2))
        for one in translated:
            table.add_row(Text(f"  {one.model}", style="dim"), Text(one.source), Text(one.text, style="bold"))
        console.print(table)
    return translated


def _show_solved(console: Console, solved: Solved) -> None:
    """The first date of a few languages, and the share of all that are right."""
    _heading(console, "Testing on years and formats that it has never seen")
    shown: dict[str, tuple[Written, str]] = {}
    for one, said in zip(solved.tested, solved.said, strict=True):
        if one.month or one.language == "ja":
            shown.setdefault(one.language, (one, said))
    table = Table.grid(padding=(0, 2))
    for language in filter(shown.__contains__, _SHOWN_LANGUAGES):
        one, said = shown[language]
        mark = Text("right", style="green") if one.iso == said else Text(f"wrong: {one.iso}", style="red")
        table.add_row(Text(f"  {language}", style="dim"), Text(one.text), Text(said, style="bold"), mark)
    console.print(table)
    console.print(f"\n  [bold green]{100 * solved.share:.1f} %[/] of {len(solved.tested):,} dates are right.")


def _show_seen(console: Console, shown: Written, seen: Seen) -> None:
    _heading(console, "Looking at its attention")
    told = f"  {shown.text}: when it writes the month, head {seen.head} attends to {shown.month!r}."
    console.print(Text(told), soft_wrap=True)
    told = f"of its attention falls on that word; {100 * seen.share:.0f} % on average over many dates."
    console.print(f"  [bold green]{100 * seen.here:.0f} %[/] {told}")
    told = f"  {seen.page} ({seen.size / 1e6:.1f} MB) shows all heads: open it in a browser."
    console.print(Text(told), soft_wrap=True)


def _failures(translated: list[Translated], solved: Solved, seen: Seen) -> list[str]:
    """What the demonstration claims and is not so."""
    from regard.demo import tour

    found = [
        f"{one.model} translated {one.source!r} as {one.text!r}, without {' and '.join(one.missing)}."
        for one in translated
        if one.missing
    ]
    if solved.share < tour.SOLVED:
        found.append(f"{100 * solved.share:.1f} % of the dates are right; expected at least {100 * tour.SOLVED:.0f} %.")
    if min(seen.here, seen.share) < tour.LOOKED_AT:
        found.append(f"no head puts {100 * tour.LOOKED_AT:.0f} % of its attention on the name of the month.")
    if not seen.page.is_file():
        found.append(f"{seen.page} was not written.")
    return found


def _show_next(console: Console, folder: Path) -> None:
    from regard import shipped

    model = folder / "model"
    _heading(console, "Commands to try next")
    commands = [
        (f'echo "3. Oktober 2031" | regard translate {model}', "read a date"),
        (f"regard evaluate {model} --test {folder / 'test.tsv'} --metrics exact_match", "measure the score again"),
        ("regard train my.tsv --source en --target de --out my-model", "train a translator on your own sentence pairs"),
        ("regard doctor", "show what this machine can do"),
    ]
    if "en-de" in shipped.names():
        commands.insert(
            0,
            ('echo "Where is the station?" | regard translate en-de', "translate with a model that comes with Regard"),
        )
    for typed, what in commands:
        console.print(Text.assemble((f"  {typed}", "cyan"), (f"  {what}", "dim")), soft_wrap=True)


def _heading(console: Console, text: str) -> None:
    console.print(Text(f"\n{text}\n", style="bold"))
