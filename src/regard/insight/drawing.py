"""Pictures in SVG, drawn by hand: heat maps of attention for papers, and the parts of charts that stand alone.

A picture carries its own style, is as sharp as its printer, and follows the reader's light or dark scheme unless it is
for paper.

Shapes: H heads, T queries, S keys.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from torch import Tensor

_CELL = 22
_SMALL = 76
_LETTER = 7.4  # about the width of one, at 13 pixels
_LIGHT = (
    "--ink:#22252b;--faint:#666b75;--line:#dfdcd4;--ground:#f3f1ec;--weight:#3b2486;"
    "--first:#2f6fc4;--second:#d0701a;--third:#1a9070"
)
_DARK = (
    "--ink:#e6e4df;--faint:#a0a5ae;--line:#363a43;--ground:#23262d;--weight:#cbbcff;"
    "--first:#6ea5f2;--second:#f0984a;--third:#41c79f"
)
_STYLE = (
    "text{font:13px system-ui,-apple-system,'Segoe UI',Roboto,sans-serif;fill:var(--ink)}.faint{fill:var(--faint)}"
    ".end{text-anchor:end}.middle{text-anchor:middle}.axis{stroke:var(--faint);stroke-width:1}"
    ".rule{stroke:var(--line);stroke-width:1}.curve{fill:none;stroke-width:2;stroke-linejoin:round}"
    ".weight{fill:var(--weight)}.ground{fill:var(--ground)}"
    ".first{stroke:var(--first)}.second{stroke:var(--second)}.third{stroke:var(--third)}"
    "text.first{fill:var(--first);stroke:none}text.second{fill:var(--second);stroke:none}"
    "text.third{fill:var(--third);stroke:none}rect.first{fill:var(--first);stroke:none}"
    "rect.second{fill:var(--second);stroke:none}rect.third{fill:var(--third);stroke:none}"
)


class Panel(NamedTuple):
    """One heat map: what it is called, and the weights [T, S]."""

    title: str
    weights: Tensor


def svg(width: float, height: float, body: str, *, title: str, paper: bool = False) -> str:
    """The picture in its frame; on `paper` it is always light."""
    dark = "" if paper else f"@media(prefers-color-scheme:dark){{:root{{{_DARK}}}}}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'width="{width:.0f}" height="{height:.0f}"><title>{escape(title)}</title>'
        f"<style>:root{{{_LIGHT}}}{dark}{_STYLE}</style>\n{body}</svg>\n"
    )


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
