"""Pages of what heads do, and of what is missed without them: tables that sort when a heading is chosen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path

from regard.insight.drawing import Curve, chart
from regard.insight.heads import COLUMNS, HeadStatistics
from regard.insight.knockout import ALLOWED, KnockOut
from regard.models.parts.observation import Head
from regard.pages.document import document, section
from regard.text.files import replacing

_ORDER = ("encoder", "decoder", "decoder-source")


def write_page(path: Path, page: str) -> None:
    """Writes the page, whole or not at all."""
    with replacing(path) as file:
        file.write(page.encode(errors="replace"))


def heads_page(statistics: Sequence[HeadStatistics], *, model: str, about: str) -> str:
    """What heads do: a map for each habit, then all numbers."""
    maps = []
    for column, words in COLUMNS.items():
        having = [each for each in statistics if getattr(each, column) is not None]
        if having:
            values = {each.head: getattr(each, column) for each in having}
            maps.append(_map(f"{column}: {words}", values, [each.shown()[column] for each in having]))
    rows = [
        [(str(each.head), ""), *((shown, _number(getattr(each, column))) for column, shown in each.shown().items())]
        for each in statistics
    ]
    legend = "".join(f"<dt>{escape(column)}</dt><dd>{escape(words)}</dd>" for column, words in COLUMNS.items())
    table = f'{_sortable(["head", *COLUMNS], rows)}<dl class="signatures">{legend}</dl>'
    sections = [
        section("maps", "Maps of all statistics", f'<div class="map">{"".join(maps)}</div>'),
        section("numbers", "All numbers", table),
    ]
    return _page(f"What the heads of {model} do", about, sections)


def knock_out_page(found: KnockOut, *, model: str, about: str) -> str:
    """What is missed without each head, and how many can go."""
    lost = {effect.off[0]: effect.loss - found.whole.loss for effect in found.heads}
    columns = ["head", "loss", "difference"] + (["BLEU"] if found.whole.bleu is not None else [])
    rows = []
    for effect in found.heads:
        cells = [(str(effect.off[0]), ""), (f"{effect.loss:.4f}", f"{effect.loss}")]
        cells.append((f"{lost[effect.off[0]]:+.4f}", f"{lost[effect.off[0]]}"))
        if effect.bleu is not None:
            cells.append((f"{effect.bleu:.1f}", f"{effect.bleu}"))
        rows.append(cells)
    told = "increase of the loss without the head: the stronger the colour, the higher"
    grid = _map(told, lost, [f"{value:+.3f}" for value in lost.values()])
    return _page(
        f"What {model} loses without its heads",
        about,
        [
            section("in-short", "Summary", f"<p>{escape(in_short(found))}</p>"),
            section("missed", "Importance of each head", f'<div class="map">{grid}</div>'),
            section("together", "Several heads switched off together", f"<figure>{_curve(found)}</figure>"),
            section("numbers", "All numbers", _sortable(columns, rows)),
        ],
    )


def in_short(found: KnockOut) -> str:
    """What the table comes to, in a few sentences."""
    most = found.heads[-1]
    told = (
        f"The whole model has a loss of {found.whole.loss:.4f} on {found.sentences:,} sentences. The most important "
        f"head is {most.off[0]}: without it, the loss changes by {most.loss - found.whole.loss:+.4f}. "
    )
    for more in ALLOWED:
        limit = f"with at most {100 * more:g} % more loss" if more else "without a higher loss"
        gone = found.removable(more=more)
        if gone is None:
            told += f"No head can be removed {limit}. "
            continue
        score = f", BLEU {gone.bleu:.1f}" if gone.bleu is not None else ""
        names = ", ".join(map(str, gone.off))
        told += (
            f"{len(gone.off)} of {len(found.heads)} heads can be removed together {limit} "
            f"(loss {gone.loss:.4f}{score}): {names}. "
        )
    return told.rstrip()


def _page(title: str, about: str, sections: Sequence[str]) -> str:
    folder = files("regard.insight")
    return document(
        title=title,
        header=f"<h1>{escape(title)}</h1>\n<p>{escape(about)}</p>",
        sections=sections,
        skip=("numbers", "Skip to the table"),
        style=folder.joinpath("page.css").read_text(encoding="utf-8"),
        script=f"<script>\n{folder.joinpath('script', 'sort.js').read_text(encoding='utf-8')}</script>\n",
    )


def _sortable(columns: Sequence[str], rows: Sequence[Sequence[tuple[str, str]]]) -> str:
    """A table whose columns sort; each cell is what is shown, and the number that it is sorted by, if it is one."""
    heads = "".join(f'<th scope="col"><button type="button">{escape(column)}</button></th>' for column in columns)
    body = "".join(
        f'<tr><th scope="row"><code>{escape(row[0][0])}</code></th>'
        + "".join(f'<td data-by="{by}">{escape(shown)}</td>' for shown, by in row[1:])
        + "</tr>"
        for row in rows
    )
    return (
        '<div class="wide" tabindex="0" role="group" aria-label="All heads"><table class="sortable">'
        f"<thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _map(title: str, values: Mapping[Head, float], shown: Sequence[str]) -> str:
    """Kinds, layers and heads in a grid, each as strong as its number."""
    largest = max(max(values.values(), default=0.0), 1e-9)
    told = dict(zip(values, shown, strict=True))
    parts = []
    for kind in sorted({head.kind for head in values}, key=_ORDER.index):
        own = [head for head in values if head.kind == kind]
        across = max(head.head for head in own) + 1
        cells = "".join(
            f'<span class="cell" style="--strength:{100 * max(0.0, values[head]) / largest:.0f}%" '
            f'title="{head}: {escape(told[head])}"><b>{escape(told[head])}</b></span>'
            for head in sorted(own)
        )
        parts.append(f'<h4>{escape(kind)}</h4><div class="cells" style="--across:{across}">{cells}</div>')
    return f'<div class="panel"><h3>{escape(title)}</h3>{"".join(parts)}</div>'


def _curve(found: KnockOut) -> str:
    """The loss over how many heads are gone."""
    losses = [found.whole.loss, *(effect.loss for effect in found.together)]
    curve = Curve("", [(float(number), loss) for number, loss in enumerate(losses)])
    title = "Loss by the number of heads switched off"
    return chart(
        [curve], across="heads switched off, the least important first", up="loss", title=title, from_zero=False
    )


def _number(value: float | None) -> str:
    return "-1" if value is None else f"{value:.6f}"
