"""Curves over the steps of a run in SVG, to be put into a page. Colours come from the page's style, by class."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from html import escape
from typing import NamedTuple

from regard.training.report.figures import small
from regard.training.report.history import Point

_WIDTH, _HEIGHT = 480, 260
_LEFT, _RIGHT, _TOP, _BOTTOM = 60, 16, 14, 42
_BUCKETS = 300
_DOTS = 60  # more points than these are drawn without dots
_TICKS = 5


class Curve(NamedTuple):
    """A line through points."""

    name: str
    points: Sequence[Point]
    colour: int
    dotted: bool = False


class Axis(NamedTuple):
    """From where to where, in what kind of steps."""

    low: float
    high: float
    ticks: list[float]
    logarithmic: bool = False

    def share(self, value: float) -> float:
        """Where a value lies, from 0 to 1."""
        if self.logarithmic:
            return (math.log(value) - math.log(self.low)) / (math.log(self.high) - math.log(self.low))
        return (value - self.low) / (self.high - self.low)


def thinned(points: Sequence[Point]) -> list[Point]:
    """Few enough points to draw; of each stretch its ends, its lowest and its highest, so no peak is lost."""
    if len(points) <= 4 * _BUCKETS:
        return list(points)
    kept: list[Point] = []
    for bucket in range(_BUCKETS):
        part = points[bucket * len(points) // _BUCKETS : (bucket + 1) * len(points) // _BUCKETS]
        by_value = sorted(part, key=lambda point: point[1])
        kept += sorted({part[0], by_value[0], by_value[-1], part[-1]})
    return kept


def chart(
    curves: Sequence[Curve],
    *,
    title: str,
    logarithmic: bool = False,
    from_zero: bool = False,
    best: Point | None = None,
) -> str:
    """Axes, labels and curves; `best` is marked. Every curve has a point at least."""
    values = [value for curve in curves for _, value in curve.points]
    steps = [step for curve in curves for step, _ in curve.points]
    across = _from_zero(max(1.0, *steps))
    if logarithmic and min(values) > 0 and max(values) / min(values) > 8:
        up = _logarithmic(min(values), max(values))
    else:
        up = _linear(min(0.0, *values) if from_zero else min(values), max(values))

    def place(point: Point) -> tuple[float, float]:
        x = _LEFT + across.share(point[0]) * (_WIDTH - _LEFT - _RIGHT)
        return x, _HEIGHT - _BOTTOM - up.share(point[1]) * (_HEIGHT - _TOP - _BOTTOM)

    drawn = "".join(_drawn(curve, place) for curve in curves)
    mark = _mark(best, place) if best else ""
    told = escape(f"{title}. {' '.join(map(_told, curves))}")
    return (
        f'<svg class="curves" role="img" aria-label="{told}" viewBox="0 0 {_WIDTH} {_HEIGHT}">'
        f"{_grid(across, up, place)}{mark}{drawn}</svg>"
    )


def _told(curve: Curve) -> str:
    (first, start), (last, end) = curve.points[0], curve.points[-1]
    return f"{curve.name}: {start:.4g} at step {first:,.0f}, {end:.4g} at step {last:,.0f}."


def _grid(across: Axis, up: Axis, place: Callable[[Point], tuple[float, float]]) -> str:
    """Lines and labels of both axes."""
    parts = []
    for tick in up.ticks:
        _, y = place((across.low, tick))
        parts.append(
            f'<line class="rule" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
            f'<text class="up" x="{_LEFT - 8}" y="{y + 4:.1f}">{_label(tick)}</text>'
        )
    base = _HEIGHT - _BOTTOM
    for tick in across.ticks:
        x, _ = place((tick, up.low))
        parts.append(
            f'<line class="axis" x1="{x:.1f}" x2="{x:.1f}" y1="{base}" y2="{base + 4}"/>'
            f'<text class="across" x="{x:.1f}" y="{base + 18}">{_label(tick)}</text>'
        )
    parts.append(
        f'<line class="axis" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{base}" y2="{base}"/>'
        f'<text class="across name" x="{(_LEFT + _WIDTH - _RIGHT) / 2:.0f}" y="{_HEIGHT - 6}">step</text>'
    )
    return "".join(parts)


def _drawn(curve: Curve, place: Callable[[Point], tuple[float, float]]) -> str:
    """The line, and dots that say their numbers where there are few."""
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in map(place, thinned(curve.points)))
    kind = f"system-{curve.colour}"
    weight = "curve strong" if curve.dotted else "curve"
    line = f'<polyline class="{weight} {kind}" points="{path}"/>' if len(curve.points) > 1 else ""
    if len(curve.points) > 1 and (not curve.dotted or len(curve.points) > _DOTS):
        return line
    dots = []
    for point in curve.points:
        x, y = place(point)
        about = escape(f"{curve.name}, step {point[0]:,.0f}: {point[1]:.4g}")
        dots.append(f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="3"><title>{about}</title></circle>')
    return line + "".join(dots)


def _mark(best: Point, place: Callable[[Point], tuple[float, float]]) -> str:
    x, y = place(best)
    anchor, aside = ("end", -6) if x > _WIDTH / 2 else ("start", 6)
    return (
        f'<line class="mark" x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP}" y2="{_HEIGHT - _BOTTOM}"/>'
        f'<text class="mark" text-anchor="{anchor}" x="{x + aside:.1f}" y="{_TOP + 10}">'
        f"lowest: {best[1]:.4g}</text>"
        f'<circle class="ring" cx="{x:.1f}" cy="{y:.1f}" r="6"/>'
    )


def _linear(low: float, high: float) -> Axis:
    """An axis around these values, with round ticks."""
    if high - low <= 1e-9 * max(abs(low), abs(high)):
        pad = abs(high) / 10 or 1.0
        low, high = low - pad, high + pad
    raw = (high - low) / _TICKS
    power: float = 10.0 ** math.floor(math.log10(raw))
    step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= raw * 0.999)
    first, last = math.floor(low / step + 1e-6), math.ceil(high / step - 1e-6)
    ticks = [number * step for number in range(first, last + 1)]
    return Axis(ticks[0], ticks[-1], ticks)


def _from_zero(high: float) -> Axis:
    """An axis that ends with the last step."""
    return Axis(0.0, high, [tick for tick in _linear(0.0, high).ticks if tick <= high and tick == round(tick)])


def _logarithmic(low: float, high: float) -> Axis:
    """An axis with ticks at 1, 2, 5, 10 and so on, or at powers of ten where there are many."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    decades = range(first, last + 1)
    factors = (1, 2, 5) if len(decades) <= 3 else (1,)
    ticks = [factor * 10.0**decade for decade in decades for factor in factors]
    inside = [tick for tick in ticks if low <= tick <= high]
    start = max((tick for tick in ticks if tick <= low), default=low)
    end = min((tick for tick in ticks if tick >= high), default=high)
    return Axis(start, end, sorted({start, *inside, end}), logarithmic=True)


def _label(tick: float) -> str:
    size = abs(tick)
    for unit, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if size >= unit * (10 if letter == "k" else 1):
            return f"{tick / unit:g}{letter}"
    if 0 < size < 1e-3:
        return small(tick).replace(" × ", "·")
    return f"{tick:,.4g}" if size < 1000 else f"{tick:,.0f}"
