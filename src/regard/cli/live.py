"""What people see while a model is trained: a display that stays in place on a terminal, plain lines anywhere else."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from regard.training.events import Event, Planned, Preparing, Restarted, Said, Saved, Stepped, Validated
from regard.training.report import figures

_PLAIN_SECONDS = 10.0
_REFRESHES = 4  # a second


def view(console: Console, *, steps: int, minutes: float | None = None) -> TerminalView | PlainView:
    """The view that fits the console; both are used in a `with` statement."""
    if console.is_terminal and not console.is_dumb_terminal and not os.environ.get("CI"):
        return TerminalView(console, steps=steps, minutes=minutes)
    return PlainView(console, steps=steps, minutes=minutes)


class PlainView:
    """A line now and then, for files, pipes and machines: no control characters, nothing that moves."""

    def __init__(
        self,
        console: Console,
        *,
        steps: int,
        minutes: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._console, self._steps, self._minutes, self._clock = console, steps, minutes, clock
        self._next = clock()

    def show(self, event: Event) -> None:
        """Steps at most every ten seconds, and the last one; everything else at once."""
        if isinstance(event, Planned):
            self._steps = event.steps
            return
        if isinstance(event, Stepped | Preparing):
            last = isinstance(event, Stepped) and event.step >= self._steps
            if self._clock() < self._next and not last:
                return
            self._next = self._clock() + _PLAIN_SECONDS
        encoding = self._console.encoding
        line = self._line(event).encode(encoding, errors="replace").decode(encoding)
        self._console.print(line, markup=False, highlight=False, emoji=False, soft_wrap=True)

    def _line(self, event: Stepped | Validated | Saved | Preparing | Restarted | Said) -> str:
        if isinstance(event, Stepped):
            done = f"{100 * share(event, self._steps, self._minutes):.1f} %"
            left = f"{figures.duration(event.seconds_left)} left"
            return ", ".join([f"step {event.step:,} of {self._steps:,} ({done})", *measures(event), left])
        if isinstance(event, Validated):
            return f"step {event.step:,}: validation {validation(event)}{', the best so far' if event.best else ''}"
        if isinstance(event, Saved):
            return f"step {event.step:,}: checkpoint written in {figures.duration(event.seconds)}"
        if isinstance(event, Preparing):
            return f"preparing the corpus: {event.pairs:,} of {event.total:,} pairs"
        return clean(event.message)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        """Nothing was held."""


class TerminalView:
    """A display that stays in place, with messages scrolling by above it."""

    def __init__(self, console: Console, *, steps: int, minutes: float | None = None) -> None:
        self._steps, self._minutes = steps, minutes
        self._stepped: Stepped | None = None
        self._validated: Validated | None = None
        self._best: Validated | None = None
        self._saved: Saved | None = None
        self._prepared: Preparing | None = None
        self._spinner = Spinner("dots", style="cyan")
        self._live = Live(console=console, get_renderable=self.render, refresh_per_second=_REFRESHES)

    def show(self, event: Event) -> None:
        """Changes the display, or prints above it."""
        if isinstance(event, Said | Restarted):
            self._live.console.print(Text(clean(event.message)))
            if isinstance(event, Restarted):
                self._stepped = self._validated = self._best = self._saved = None
        elif isinstance(event, Planned):
            self._steps = event.steps
        elif isinstance(event, Stepped):
            self._stepped = event
        elif isinstance(event, Saved):
            self._saved = event
        elif isinstance(event, Preparing):
            self._prepared = event
        else:
            self._validated = event
            self._best = event if event.best else self._best

    def render(self) -> Group:
        """The display as it stands."""
        return Group(self._progress(), *([self._rows()] if self._stepped or self._validated or self._saved else []))

    def _progress(self) -> Table:
        grid = Table.grid(padding=(0, 1), expand=True)
        grid.add_column(width=1)
        grid.add_column(ratio=1)
        grid.add_column(justify="right", no_wrap=True)
        if self._stepped is None:
            if self._prepared:
                told = Text(f"preparing the corpus: {self._prepared.pairs:,} of {self._prepared.total:,} pairs")
                grid.add_row(
                    self._spinner, ProgressBar(total=self._prepared.total, completed=self._prepared.pairs), told
                )
            else:
                grid.add_row(self._spinner, Text("starting", style="dim"), "")
            return grid
        done = share(self._stepped, self._steps, self._minutes)
        told = Text.assemble(
            (f"{self._stepped.step:,}", "bold"),
            f" of {self._steps:,} ",
            (f"{100 * done:.1f} %", "cyan"),
            f"  {figures.duration(self._stepped.seconds_left)} left",
        )
        grid.add_row(self._spinner, ProgressBar(total=1.0, completed=done), told)
        return grid

    def _rows(self) -> Table:
        grid = Table.grid(padding=(0, 2))
        grid.add_column(style="dim", no_wrap=True)
        grid.add_column()
        if self._stepped:
            grid.add_row("  training", Text("  ".join(measures(self._stepped))))
        if self._validated:
            grid.add_row("  validation", Text(f"{validation(self._validated)}  (step {self._validated.step:,})"))
        if self._best:
            grid.add_row("  best", Text(f"{validation(self._best)}  (step {self._best.step:,})", style="green"))
        if self._saved:
            grid.add_row("  checkpoint", Text(f"step {self._saved.step:,}"))
        return grid

    def __enter__(self) -> Self:
        self._live.start(refresh=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        """Leaves the last state of the display where it is."""
        self._live.stop()


def share(event: Stepped, steps: int, minutes: float | None) -> float:
    """How much of the run is over, from 0 to 1: by steps, or by the clock where that ends it sooner."""
    shares = [event.step / steps, event.seconds / (60 * minutes) if minutes else 0.0]
    return min(1.0, max(shares))


def measures(event: Stepped) -> list[str]:
    """What was measured, each with its name."""
    skipped = [f"{event.skipped:,} skipped"] if event.skipped else []
    return [
        f"loss {figures.value(event.loss)}",
        f"perplexity {figures.perplexity(event.perplexity)}",
        f"rate {event.rate:.3g}",
        f"{figures.count(event.tokens_per_second)} tokens/s",
        f"memory {figures.size(event.memory)}",
        f"epoch {event.epoch + 1}",
        *skipped,
    ]


def validation(event: Validated) -> str:
    """The loss, what the source is worth, and scores where there are some."""
    scores = [f"{figures.metric_title(name)} {figures.value(score, 1)}" for name, score in event.scores.items()]
    worth = [] if event.source_worth is None else [f"source worth {figures.value(event.source_worth, 2)} nats"]
    return ", ".join(
        [f"loss {figures.value(event.loss)}", f"perplexity {figures.perplexity(event.perplexity)}", *worth, *scores]
    )


def clean(message: str) -> str:
    """A message without anything that would move the cursor or change colours."""
    return "".join(letter if letter.isprintable() or letter == "\n" else "\ufffd" for letter in message)
