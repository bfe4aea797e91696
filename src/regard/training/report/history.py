"""What the events of a run say when they are read one after the other: curves, messages, how translations grew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from regard.training.report.figures import finite

Events = Sequence[Mapping[str, Any]]
Point = tuple[float, float]

_BEYOND = 1e12  # a curve with such values could not be read


class Series(NamedTuple):
    """A value by step, and how many values were no numbers, or beyond all measure."""

    points: list[Point]
    left_out: int


class Message(NamedTuple):
    """A message, after so many steps and seconds of training."""

    step: int
    seconds: float
    text: str


class Look(NamedTuple):
    """The validation at a step."""

    step: int
    loss: float


def series(events: Events, kind: str, *path: str) -> Series:
    """The value at `path` in every event of this kind; of steps that a run did again, the later ones count."""
    points: list[Point] = []
    left_out = 0
    for event in events:
        step = finite(event.get("step"))
        found = _at(event, path)
        if event.get("event") != kind or step is None or found is None:
            continue
        while points and points[-1][0] >= step:
            points.pop()
        number = finite(found)
        if number is None or abs(number) > _BEYOND:
            left_out += 1
        else:
            points.append((step, number))
    return Series(points, left_out)


def score_names(events: Events) -> list[str]:
    """The metrics that validations were scored by."""
    names: dict[str, None] = {}
    for event in events:
        names |= dict.fromkeys(event.get("scores") or {})
    return list(names)


def messages(events: Events) -> list[Message]:
    """All messages, with the step and the time of the report before it."""
    step, seconds = 0, 0.0
    found = []
    for event in events:
        if event.get("event") == "said":
            found.append(Message(step, seconds, str(event.get("message", ""))))
        step = int(finite(event.get("step")) or step)
        if event.get("event") == "stepped":
            seconds = finite(event.get("seconds")) or seconds
    return found


def growth(events: Events, *, most: int) -> dict[tuple[str, str], list[tuple[int, str]]]:
    """How the translation of each sample (source, reference) changed; of many changes, `most` evenly chosen."""
    found: dict[tuple[str, str], dict[int, str]] = {}
    for event in events:
        for source, reference, translation in event.get("samples") or ():
            found.setdefault((source, reference), {})[int(event["step"])] = translation
    return {sample: _evenly(_changes(sorted(steps.items())), most) for sample, steps in found.items()}


def lowest(events: Events) -> Look | None:
    """The validation with the lowest loss."""
    points = series(events, "validated", "loss").points
    if not points:
        return None
    step, loss = min(points, key=lambda point: point[1])
    return Look(int(step), loss)


def trend(events: Events) -> str:
    """A sentence on whether the run was long enough, as far as its validations can say."""
    points, best = series(events, "validated", "loss").points, lowest(events)
    if best is None or len(points) < 3:
        return ""
    last = points[-1][0]
    if best.step == last:
        return "The validation loss was still falling when training ended: more steps would probably help."
    if best.step <= 0.75 * last:
        return (
            f"The validation loss was lowest at step {best.step:,} and has not fallen since: more steps would "
            "hardly help, but more data or more dropout might."
        )
    return f"The validation loss was lowest at step {best.step:,}, near the end: more steps would help little."


def _at(event: Mapping[str, Any], path: Sequence[str]) -> Any:
    found: Any = event
    for key in path:
        found = found.get(key) if isinstance(found, Mapping) else None
    return found


def _changes(stages: list[tuple[int, str]]) -> list[tuple[int, str]]:
    return [stage for number, stage in enumerate(stages) if not number or stage[1] != stages[number - 1][1]]


def _evenly(items: list[tuple[int, str]], most: int) -> list[tuple[int, str]]:
    if len(items) <= most:
        return items
    return [items[round(number * (len(items) - 1) / (most - 1))] for number in range(most)]
