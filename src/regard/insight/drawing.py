"""Pictures in SVG, drawn by hand: heat maps of attention for papers, and the parts of charts that stand alone.

A picture carries its own style, is as sharp as its printer, and follows the reader's light or dark scheme unless it is
for paper.

Shapes: H heads, T queries, S keys.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import NamedTuple

from torch import Tensor

_CELL = 22
_SMALL = 76
_LETTER = 7.4  # about the width of one, at 13 pixels
_LIGHT = {
    "ink": "#22252b", "faint": "#666b75", "line": "#dfdcd4", "ground": "#f3f1ec", "weight": "#3b2486",
    "first": "#2f6fc4", "second": "#d0701a", "third": "#1a9070",
}  # fmt: skip
_DARK = {
    "ink": "#e6e4df", "faint": "#a0a5ae", "line": "#363a43", "ground": "#23262d", "weight": "#cbbcff",
    "first": "#6ea5f2", "second": "#f0984a", "third": "#41c79f",
}  # fmt: skip
_RULES = {
    "text": "font:13px system-ui,-apple-system,'Segoe UI',Roboto,sans-serif;fill:{ink}",
    ".faint": "fill:{faint}",
    ".end": "text-anchor:end",
    ".middle": "text-anchor:middle",
    ".rule": "stroke:{line};stroke-width:1",
    ".curve": "fill:none;stroke-width:2.2;stroke-linejoin:round",
    ".weight": "fill:{weight}",
    ".ground": "fill:{ground}",
} | {
    f"{shape}.{colour}": f"{what}:{{{colour}}}"
    for colour in ("first", "second", "third")
    for shape, what in (("text", "fill"), ("rect", "fill"), ("polyline", "stroke"))
}
COLOURS = ("first", "second", "third")


class Panel(NamedTuple):
    """One heat map: what it is called, and the weights [T, S]."""

    title: str
    weights: Tensor


def svg(width: float, height: float, body: str, *, title: str, paper: bool = False) -> str:
    """The picture in its frame; on `paper` it is always light."""
    style = _style(_LIGHT)
    if not paper:
        style += f"@media(prefers-color-scheme:dark){{{_style(_DARK)}}}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="picture" role="img" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'width="{width:.0f}" height="{height:.0f}"><title>{escape(title)}</title>'
        f"<style>{style}</style>\n{body}</svg>\n"
    )


def _style(colours: Mapping[str, str]) -> str:
    """Colours stand in it as they are: programs that print know no variables."""
    return "".join(f".picture {kind}{{{rule.format_map(colours)}}}" for kind, rule in _RULES.items())


def text(x: float, y: float, words: str, kind: str = "") -> str:
    """Words, by default from `x` on."""
    chosen = f' class="{kind}"' if kind else ""
    return f'<text x="{x:.1f}" y="{y:.1f}"{chosen}>{escape(words)}</text>'


def ground(left: float, top: float, width: float, height: float) -> str:
    """What cells stand on."""
    return f'<rect class="ground" x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" height="{height:.1f}"/>'


def cells(values: Sequence[Sequence[float]], left: float, top: float, width: float, height: float) -> str:
    """A rectangle for every number above zero, as strong as the number, which is 1 at the most."""
    drawn = []
    for row, numbers in enumerate(values):
        for column, number in enumerate(numbers):
            if number >= 0.005:
                drawn.append(
                    f'<rect class="weight" x="{left + column * width:.1f}" y="{top + row * height:.1f}" '
                    f'width="{width - (1 if width > 4 else 0):.1f}" height="{height - (1 if height > 4 else 0):.1f}" '
                    f'opacity="{min(1.0, number) ** 0.6:.2f}"/>'
                )
    return "".join(drawn)


def heat_map(panel: Panel, rows: Sequence[str], columns: Sequence[str]) -> str:
    """One head with its words, for a paper."""
    left = max(map(len, rows)) * _LETTER + 16
    slant = max(map(len, columns)) * _LETTER * 0.72
    top = slant + 44
    width, height = left + len(columns) * _CELL + slant, top + len(rows) * _CELL + 10
    parts = [
        text(8, 22, panel.title),
        ground(left, top, len(columns) * _CELL, len(rows) * _CELL),
        cells(panel.weights.tolist(), left, top, _CELL, _CELL),
    ]
    parts += [text(left - 8, top + (n + 0.5) * _CELL + 4, word, "end") for n, word in enumerate(rows)]
    for number, word in enumerate(columns):
        x = left + (number + 0.6) * _CELL
        parts.append(f'<text transform="translate({x:.1f} {top - 8:.1f}) rotate(-45)">{escape(word)}</text>')
    return svg(width, height, "\n".join(parts), title=panel.title, paper=True)


def small_multiples(panels: Sequence[Panel], *, across: int, title: str) -> str:
    """Many heads without words, `across` of them in a line."""
    step = _SMALL + 14
    lines = -(-len(panels) // across)
    parts = [text(8, 22, title)]
    for number, panel in enumerate(panels):
        left, top = 8 + number % across * step, 50 + number // across * (step + 16)
        rows, columns = panel.weights.shape
        parts += [
            text(left, top - 5, panel.title, "faint"),
            ground(left, top, _SMALL, _SMALL),
            cells(panel.weights.tolist(), left, top, _SMALL / columns, _SMALL / rows),
        ]
    return svg(16 + across * step, 50 + lines * (step + 16), "\n".join(parts), title=title, paper=True)


class Curve(NamedTuple):
    """A line through points, its name written at its end."""

    name: str
    points: Sequence[tuple[float, float]]


def chart(curves: Sequence[Curve], *, across: str, up: str, title: str, from_zero: bool = True) -> str:
    """Curves over the same axes, and what the axes are."""
    left, right, top, bottom, width, height = 64.0, 128.0, 30.0, 46.0, 640.0, 300.0
    xs = [x for curve in curves for x, _ in curve.points]
    ys = [y for curve in curves for _, y in curve.points]
    ticks_across, ticks_up = _ticks(min(xs), max(xs)), _ticks(min(0.0, *ys) if from_zero else min(ys), max(ys))
    low, high = min(*ticks_up, *ys), max(*ticks_up, *ys)

    def place(x: float, y: float) -> tuple[float, float]:
        share = (x - min(xs)) / ((max(xs) - min(xs)) or 1.0), (y - low) / ((high - low) or 1.0)
        return left + share[0] * (width - left - right), height - bottom - share[1] * (height - top - bottom)

    parts = [text(8, 16, up, "faint"), text((left + width - right) / 2, height - 8, across, "middle faint")]
    for tick in ticks_up:
        y = place(min(xs), tick)[1]
        parts.append(f'<line class="rule" x1="{left}" x2="{width - right}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(text(left - 8, y + 4, f"{tick:g}", "end faint"))
    parts += [text(place(tick, low)[0], height - bottom + 18, f"{tick:,g}", "middle faint") for tick in ticks_across]
    ends: list[float] = []
    for number, curve in enumerate(curves):
        colour = COLOURS[number % len(COLOURS)]
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in (place(*point) for point in curve.points))
        parts.append(f'<polyline class="curve {colour}" points="{points}"/>')
        y = place(*curve.points[-1])[1] + 4
        while any(abs(y - other) < 15 for other in ends):
            y -= 15
        ends.append(y)
        parts.append(text(width - right + 8, y, curve.name, colour))
    return svg(width, height, "\n".join(parts), title=title)


def _ticks(low: float, high: float) -> list[float]:
    """Round numbers from one to the other."""
    if high <= low:
        return [low]
    raw = (high - low) / 5
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= raw * 0.999)
    return [number * step for number in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]
