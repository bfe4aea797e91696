"""What happens during training: shown to views, and written to metrics.jsonl."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, Protocol


class Stepped(NamedTuple):
    """The mean of the last few steps."""

    step: int
    loss: float  # smoothed, what is minimised
    perplexity: float
    rate: float
    gradient: float  # the norm of the last one
    tokens_per_second: float
    seconds: float  # of training, all told
    seconds_left: float
    memory: int  # bytes
    epoch: int
    skipped: int
    exchanged: int = 0  # bytes a step, of what is summed over all processes
    waited: float = 0.0  # seconds a step, for these sums after the backward pass


class Validated(NamedTuple):
    """A look at text that is not trained on."""

    step: int
    loss: float
    perplexity: float
    best: bool
    seconds: float
    scores: dict[str, float]  # by metric, where sentences were translated
    samples: list[tuple[str, str, str]]  # source, reference, translation
    source_worth: float | None = None  # nats a token that are lost if sources are exchanged; None without a source


class Saved(NamedTuple):
    """A checkpoint was written."""

    step: int
    path: str
    seconds: float


class Preparing(NamedTuple):
    """The corpus is being prepared: so many of its pairs are done."""

    pairs: int
    total: int


class Said(NamedTuple):
    """A decision, a warning: something that a person should know."""

    message: str


class Planned(NamedTuple):
    """The run will have another number of steps."""

    step: int
    steps: int


class Restarted(NamedTuple):
    """The run starts again from the first step; what was measured before does not count."""

    message: str


Event = Stepped | Validated | Saved | Preparing | Planned | Restarted | Said


class View(Protocol):
    """A viewer of the run."""

    def show(self, event: Event) -> None:
        """Something happened."""


class Journal:
    """Tells events to a view and writes them down; a run that goes on, goes on in the same file."""

    def __init__(self, path: Path | None, view: View | None, more: Callable[[Event], None] | None = None) -> None:
        self._path, self._view, self._more = path, view, more

    def tell(self, event: Event) -> None:
        """Tells all viewers."""
        if self._path:
            line: dict[str, Any] = {"event": type(event).__name__.lower(), **event._asdict()}
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line, ensure_ascii=False) + "\n")
        for told in (self._view.show if self._view else None, self._more):
            if told:
                told(event)

    def show(self, event: Event) -> None:
        """To the view alone: something that is not worth writing down."""
        if self._view:
            self._view.show(event)

    def say(self, message: str) -> None:
        """A sentence for people."""
        self.tell(Said(message))


def read_journal(path: Path) -> list[dict[str, Any]]:
    """The events in a metrics.jsonl; a last line that was cut off is left out.

    What a run wrote after the checkpoint that it later went on from stands in the file twice: the later one counts.
    Of a run that was restarted, only the messages before that count.
    """
    events: list[dict[str, Any]] = []
    for line in path.read_text(encoding="utf-8").split("\n"):
        try:
            event = json.loads(line)
        except ValueError:
            continue
        if event.get("event") == "restarted":
            events = [earlier for earlier in events if "step" not in earlier]
            event = {"event": "said", "message": event.get("message", "")}
        while events and "step" in event and _later(events[-1], event):
            events.pop()
        events.append(event)
    return events


def _later(earlier: dict[str, Any], event: dict[str, Any]) -> bool:
    return "step" in earlier and earlier["step"] > event["step"]
