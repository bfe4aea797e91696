"""Small charts in SVG, to be put into a page. Colours come from the page's style, by class: `system-0` and so on."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from regard.evaluation.significance import Interval
from regard.pages.document import COLOURS

_HEIGHT = 150
_TOP = 22
_BAR = 32
_DIGITS_FIT = 27
_GAP = 22


class Group(NamedTuple):
    """Bars that stand together, one for each system, and what is written beneath them."""

    label: str
    note: str
    values: Sequence[float]


def bars(groups: Sequence[Group], *, title: str) -> str:
    """Groups of bars from zero on."""
    systems = len(groups[0].values)
    bar = max(14.0, _BAR - 4.0 * max(0, systems - 3))
    group = max(bar * systems + _GAP, 104)
    width = group * len(groups)
    top = max((value for each in groups for value in each.values), default=0) or 1
    drawn = "".join(_group(each, number * group, group, bar, top) for number, each in enumerate(groups))
    base = _TOP + _HEIGHT
    return (
        f'<svg class="bars" role="img" aria-label="{escape(title)}" viewBox="0 0 {width:.0f} {base + 44}" '
        f'style="max-width:{width:.0f}px"><line class="axis" x1="0" x2="{width:.0f}" y1="{base}" y2="{base}"/>'
        f"{drawn}</svg>"
    )


def _group(group: Group, left: float, width: float, bar: float, top: float) -> str:
    middle = left + width / 2
    base = _TOP + _HEIGHT
    start = middle - bar * len(group.values) / 2
    digits = 1 if bar >= _DIGITS_FIT else 0
    drawn = []
    for number, value in enumerate(group.values):
        height = _HEIGHT * max(0.0, value) / top
        x = start + number * bar
        drawn.append(
            f'<rect class="system-{number % COLOURS}" x="{x + 1.5:.1f}" y="{base - height:.1f}" '
            f'width="{bar - 3:.1f}" height="{height:.1f}" rx="2"/>'
            f'<text class="value" x="{x + bar / 2:.1f}" y="{base - height - 6:.1f}">{value:.{digits}f}</text>'
        )
    return (
        f'{"".join(drawn)}<text class="label" x="{middle:.1f}" y="{base + 18}">{escape(group.label)}</text>'
        f'<text class="note" x="{middle:.1f}" y="{base + 35}">{escape(group.note)}</text>'
    )


def whisker(value: float, interval: Interval, span: Interval, *, system: int) -> str:
    """A score as a dot with its interval, on a scale that goes over `span`; what it says stands beside it in words."""
    reach = (span.high - span.low) or 1.0

    def place(at: float) -> float:
        return 6 + 128 * (at - span.low) / reach

    return (
        '<svg class="whisker" aria-hidden="true" viewBox="0 0 140 14" width="140" height="14">'
        '<line class="axis" x1="6" x2="134" y1="7" y2="7"/>'
        f'<line class="range system-{system % COLOURS}" x1="{place(interval.low):.1f}" x2="{place(interval.high):.1f}" '
        f'y1="7" y2="7"/><circle class="system-{system % COLOURS}" cx="{place(value):.1f}" cy="7" r="4.5"/></svg>'
    )
