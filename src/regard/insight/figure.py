"""A figure of attention for a paper: one head, the mean of a layer, or all heads of a kind; as SVG or PNG."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from regard.errors import SettingsError
from regard.insight.attention import SOURCE_KIND, Attention
from regard.insight.drawing import Panel, heat_map, small_multiples
from regard.models.parts.observation import Head
from regard.models.protocols import AttentionName
from regard.text.files import replacing


class Figure(NamedTuple):
    """What is drawn: panels, in lines of `across`; words beside them if there is only one."""

    title: str
    panels: Sequence[Panel]
    across: int
    rows: Sequence[str]
    columns: Sequence[str]

    def svg(self) -> str:
        """The figure as SVG."""
        if len(self.panels) == 1:
            return heat_map(self.panels[0], self.rows, self.columns)
        return small_multiples(self.panels, across=self.across, title=self.title)


def figure(attention: Attention, part: str = "", *, pieces: bool = False) -> Figure:
    """The figure of `part`: `encoder` all heads, `encoder.2` the mean of a layer, `encoder.2.5` a head.

    Left out, it is all heads that look at the source, or all of the first kind that there is.
    """
    kinds = attention.kinds()
    part = part or (SOURCE_KIND if SOURCE_KIND in kinds else kinds[0])
    kind = part.split(".")[0]
    names = [name for name in attention.lookups if name.kind == kind]
    if part == kind and names:
        panels = [
            Panel(f"{name.layer}.{head}", weights)
            for name in names
            for head, weights in enumerate(attention.weights(name, words=not pieces))
        ]
        across = max(attention.lookups[name].weights.size(0) for name in names)
        title = f"{kind}: layer.head"
    else:
        panels, across, title = [_panel(attention, part, pieces=pieces)], 1, part
    queries, keys = attention.queries(kind), attention.keys(kind)
    rows, columns = (side.pieces if pieces else side.words for side in (queries, keys))
    return Figure(title, panels, across, rows, columns)


def write_svg(path: Path, drawn: Figure) -> None:
    """Writes the figure, whole or not at all."""
    with replacing(path) as file:
        file.write(drawn.svg().encode())


def _panel(attention: Attention, part: str, *, pieces: bool) -> Panel:
    for name in attention.lookups:
        weights = attention.weights(name, words=not pieces)
        if str(name) == part:
            return Panel(f"{part}, mean of {weights.size(0)} heads", weights.mean(dim=0))
        if part.startswith(f"{name}."):
            head = Head.parse(part)
            if head.head < weights.size(0):
                return Panel(part, weights[head.head])
    raise SettingsError(f"{part}: there is no such part to draw.\n  Give one of: {_parts(attention)}.")


def _parts(attention: Attention) -> str:
    """What can be drawn, by an example of each."""
    name: AttentionName = list(attention.lookups)[-1]
    return f"{', '.join(attention.kinds())}; a layer, such as {name}; a head, such as {name}.0"
