"""How a model learned, as figures for a page: curves over the steps, each with a sentence on how to read it."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from regard.pages.document import swatch
from regard.training.report import figures
from regard.training.report.curves import Curve, chart
from regard.training.report.history import Events, Point, Series, lowest, score_names, series

_COLOURS = {"training": 1, "validation": 2}
_SCORES = (3, 4, 5, 0)


class _Plot(NamedTuple):
    title: str
    about: str
    lines: Sequence[tuple[str, Series, int, bool]]  # name, values, colour, whether with dots
    logarithmic: bool = False
    from_zero: bool = False
    best: Point | None = None


def learning(events: Events) -> str:
    """A figure for everything that was measured."""
    figures_made = "".join(_figure(plot) for plot in _plots(events) if any(line[1].points for line in plot.lines))
    if not figures_made:
        return "<p>The run was too short to measure anything during training.</p>"
    return f'<div class="charts">{figures_made}</div>{_table(events)}'


def _plots(events: Events) -> list[_Plot]:
    best = lowest(events)
    return [
        _Plot(
            "Loss",
            "How improbable the model finds the correct next token; lower is better. The training loss is measured "
            "with dropout, so it can exceed the validation loss. If only validation rises, the model overfits.",
            _both(events, "loss"),
            best=(best.step, best.loss) if best else None,
        ),
        _Plot(
            "Perplexity",
            "The number of equally likely tokens that would leave the model as uncertain; 1 is certainty.",
            _both(events, "perplexity"),
            logarithmic=True,
        ),
        _Plot(
            "The source's worth",
            "How many nats a token the validation loss rises if the sources are exchanged between sentences. Near "
            "zero, the model ignores its source.",
            [("worth", series(events, "validated", "source_worth"), _COLOURS["validation"], True)],
            from_zero=True,
        ),
        _Plot(
            "Validation scores",
            "Scores of a few held-out examples, translations by greedy search; the final scores differ.",
            [
                (figures.metric_title(name), series(events, "validated", "scores", name), _SCORES[number % 4], True)
                for number, name in enumerate(score_names(events))
            ],
            from_zero=True,
        ),
        _one(events, "Learning rate", "rate", "How far each step moves the weights (section 5.3 of the paper)."),
        _one(events, "Speed", "tokens_per_second", "Target tokens per second of training."),
        _one(
            events, "Gradient", "gradient", "The norm of the gradient. Single peaks are harmless; rising peaks are not."
        ),
    ]


def _both(events: Events, name: str) -> list[tuple[str, Series, int, bool]]:
    return [
        ("training", series(events, "stepped", name), _COLOURS["training"], False),
        ("validation", series(events, "validated", name), _COLOURS["validation"], True),
    ]


def _one(events: Events, title: str, name: str, about: str) -> _Plot:
    return _Plot(title, about, [(title.lower(), series(events, "stepped", name), 1, False)], from_zero=True)


def _figure(plot: _Plot) -> str:
    lines = [line for line in plot.lines if line[1].points]
    curves = [Curve(name, values.points, colour, dotted) for name, values, colour, dotted in lines]
    left_out = sum(values.left_out for _, values, _, _ in plot.lines)
    values_were = "value is" if left_out == 1 else "values are"
    note = f" {left_out:,} {values_were} NaN or infinite and not shown." if left_out else ""
    legend = "".join(f"<li>{swatch(curve.colour)}{escape(curve.name)}</li>" for curve in curves)
    shown = f'<ul class="legend">{legend}</ul>' if len(plot.lines) > 1 else ""
    drawn = chart(curves, title=plot.title, logarithmic=plot.logarithmic, from_zero=plot.from_zero, best=plot.best)
    return (
        f"<figure><figcaption><h3>{escape(plot.title)}</h3><p>{escape(plot.about + note)}</p>{shown}</figcaption>"
        f"{drawn}</figure>"
    )


def _table(events: Events) -> str:
    """The validations in numbers, for those who cannot see curves or do not trust them."""
    names = score_names(events)
    looks = [event for event in events if event.get("event") == "validated"]
    if not looks:
        return ""
    heads = "".join(
        f'<th scope="col">{escape(title)}</th>'
        for title in ("step", "loss", "perplexity", "source's worth", *map(figures.metric_title, names))
    )
    rows = "".join(
        f'<tr><th scope="row">{figures.count(look.get("step"))}</th><td>{figures.value(look.get("loss"))}</td>'
        f"<td>{figures.perplexity(look.get('perplexity'))}</td><td>{_optional(look.get('source_worth'), 2)}</td>"
        + "".join(f"<td>{_optional((look.get('scores') or {}).get(name))}</td>" for name in names)
        + "</tr>"
        for look in looks
    )
    return (
        "<details><summary>All validations as a table</summary>"
        '<div class="wide" tabindex="0" role="region" aria-label="All validations"><table class="numbers"><thead><tr>'
        f"{heads}</tr></thead><tbody>{rows}</tbody></table></div></details>"
    )


def _optional(value: float | None, digits: int = 1) -> str:
    return "" if value is None else figures.value(value, digits)
