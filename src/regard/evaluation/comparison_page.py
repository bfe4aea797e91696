"""A comparison as one HTML page that needs nothing beside it: no network, no script, no other file."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

from regard.evaluation.charts import Group, bars, whisker
from regard.evaluation.comparison import SENTENCE_METRIC, Comparison, Example
from regard.evaluation.differences import marked
from regard.evaluation.significance import Difference, Interval
from regard.evaluation.slices import Slicing
from regard.metrics import metric
from regard.pages.document import document, labelled_text, section, swatch
from regard.text.files import replacing

_TO_THE_SENTENCES = "Skip to the sentences that differ most"

HOW_TO_READ = """
<details><summary>How to read this</summary>
<p><b>A score</b> measures how close the translations are to the reference, which is only one of many good
translations. Compare systems only on the same sentences, by the same metric with the same signature.</p>
<p><b>The range</b> beneath a score is its 95 % confidence interval: the score would lie there for 95 of 100 test sets
of this kind and size. The ranges of two systems may overlap although their difference is significant, because both
systems translate the same easy and hard sentences.</p>
<p><b>By chance</b>: of two equally good systems, one scores higher by luck. Two tests measure how often luck alone
would give a difference as large as this one. Paired bootstrap resamples the sentences of the test set many times.
Approximate randomisation swaps the outputs of the two systems in random sentences. This page calls a system better
only if both tests find the difference in fewer than 5 of 100 cases. If you compare many equal systems, about one in
twenty will still look better.</p>
<p><b>A signature</b> lists everything that affects the number: tokenisation, case, the number of references and the
version of the program. Compare only numbers with the same signature.</p>
</details>
"""


def write_page(path: Path, comparison: Comparison) -> None:
    """Writes the page, whole or not at all."""
    with replacing(path) as file:
        file.write(page(comparison).encode())


def page(comparison: Comparison) -> str:
    """The page."""
    title = f"Comparison on {comparison.held_out}"
    sections = [
        section("in-short", "In short", _verdicts(comparison)),
        section(
            "scores",
            "Scores",
            f"{_scores(comparison)}\n{_remarks(comparison)}{HOW_TO_READ}{_signatures(comparison)}",
        ),
        section("where", "Where they differ", _slicings(comparison)),
        section("sentences", "Sentences that differ most", _examples(comparison)),
    ]
    return document(
        title=title, header=_header(title, comparison), sections=sections, skip=("sentences", _TO_THE_SENTENCES)
    )


def _header(title: str, comparison: Comparison) -> str:
    return (
        f"<h1>{escape(title)}</h1>\n<p>{comparison.lines:,} sentences{_languages(comparison)}. "
        f"Each system is compared with the first one.</p>\n{_legend(comparison.systems)}"
    )


def _languages(comparison: Comparison) -> str:
    return f", {escape(str(comparison.languages))}" if comparison.languages else ""


def _legend(systems: Sequence[str]) -> str:
    items = "".join(f"<li>{swatch(number)}{escape(name)}</li>" for number, name in enumerate(systems))
    return f'<ul class="legend" aria-label="Systems">{items}</ul>'


def _verdicts(comparison: Comparison) -> str:
    """A card for each system but the first."""
    cards = []
    others = len(comparison.systems) - 1
    for number in range(others):
        own = comparison.differences[number::others]
        rows = "".join(f"<li>{_badge(difference)} {escape(difference.in_words())}</li>" for difference in own)
        heading = f"{swatch(number + 1)}{escape(own[0].system)} <small>against</small> {swatch(0)}"
        cards.append(f"<article><h3>{heading}{escape(own[0].baseline)}</h3><ul>{rows}</ul></article>")
    return f'<div class="cards">{"".join(cards)}</div>'


def _badge(difference: Difference) -> str:
    if difference.better is None:
        return '<strong class="badge even">no clear difference</strong>'
    won = difference.better == difference.system
    return f'<strong class="badge {"won" if won else "lost"}">{"better" if won else "worse"}</strong>'


def _scores(comparison: Comparison) -> str:
    first = comparison.scores[0]
    heads = "".join(
        f'<th scope="col">{escape(score.title)} <small>{_direction(score.higher_is_better)}</small></th>'
        for score in first
    )
    notes = "".join(f"<td>{escape(about)}</td>" for about in comparison.about)
    columns = list(zip(*comparison.intervals, strict=True))
    spans = [Interval(min(each.low for each in column), max(each.high for each in column)) for column in columns]
    rows = []
    for number, name in enumerate(comparison.systems):
        cells = "".join(
            f'<td><span class="score">{score.value:.1f}</span> {whisker(score.value, interval, span, system=number)}'
            f"<small>{interval.low:.1f} to {interval.high:.1f}</small></td>"
            for score, interval, span in zip(
                comparison.scores[number], comparison.intervals[number], spans, strict=True
            )
        )
        rows.append(f'<tr><th scope="row">{swatch(number)}{escape(name)}</th>{cells}</tr>')
    return (
        '<div class="wide" tabindex="0" role="region" aria-label="Scores"><table class="scores">'
        f"<thead><tr><td></td>{heads}</tr>"
        f'<tr class="about"><td></td>{notes}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>'
    )


def _direction(higher_is_better: bool) -> str:
    return "higher is better" if higher_is_better else "lower is better"


def _remarks(comparison: Comparison) -> str:
    return "".join(f'<p class="remark">{escape(remark)}</p>' for remark in comparison.remarks)


def _signatures(comparison: Comparison) -> str:
    rows = "".join(
        f"<dt>{escape(score.title)}</dt><dd><code>{escape(score.signature)}</code></dd>"
        for score in comparison.scores[0]
    )
    return f'<h3>Signatures</h3><dl class="signatures">{rows}</dl>'


def _slicings(comparison: Comparison) -> str:
    drawn = "".join(_slicing(slicing, comparison.systems) for slicing in comparison.slicings)
    return f'<div class="charts">{drawn}</div>'


def _slicing(slicing: Slicing, systems: Sequence[str]) -> str:
    """A chart by the first metric, and a table of all."""
    main = slicing.slices[0].scores[0][0]
    groups = [
        Group(part.label, f"{part.lines:,} lines", [scores[0].value for scores in part.scores])
        for part in slicing.slices
    ]
    metrics = [score.title for score in slicing.slices[0].scores[0]]
    heads = "".join(f'<th scope="col">{escape(name)}, {escape(title)}</th>' for title in metrics for name in systems)
    rows = "".join(
        f'<tr><th scope="row">{escape(part.label)}</th><td>{part.lines:,}</td>'
        + "".join(f"<td>{scores[n].value:.1f}</td>" for n in range(len(metrics)) for scores in part.scores)
        + "</tr>"
        for part in slicing.slices
    )
    chart = bars(groups, title=f"{main.title} of each system. {slicing.about} The table below has the numbers.")
    return (
        f"<figure><figcaption><h3>{escape(slicing.title)}</h3><p>{escape(slicing.about)} "
        f"The chart shows {escape(main.title)}: {_direction(main.higher_is_better)}.</p></figcaption>{chart}"
        f'<details><summary>All numbers</summary><div class="wide" tabindex="0" role="region" '
        f'aria-label="{escape(slicing.title)}, all numbers"><table><thead><tr><th scope="col">group</th>'
        f'<th scope="col">lines</th>{heads}</tr></thead><tbody>{rows}</tbody></table></div></details></figure>'
    )


def _examples(comparison: Comparison) -> str:
    if not comparison.examples:
        return "<p>The systems translate every sentence in the same way.</p>"
    title = metric(SENTENCE_METRIC).title
    legend = (
        f"<p>The {len(comparison.examples)} sentences in which the systems differ most, by {escape(title)} "
        "per sentence (the number next to each system; 100 means identical to the reference). "
        "<ins>Marked</ins> words are not in the reference; <del>struck</del> words of the reference are missing.</p>"
        '<label class="switch"><input type="checkbox" id="missing" checked> Show missing words</label>'
    )
    cards = "".join(_example(example, comparison) for example in comparison.examples)
    return f'{legend}<ol class="examples">{cards}</ol>'


def _example(example: Example, comparison: Comparison) -> str:
    languages = comparison.languages
    source = (
        labelled_text("source", escape(example.source), languages.source if languages else "") if example.source else ""
    )
    target = languages.target if languages else ""
    references = "".join(labelled_text("reference", escape(reference), target) for reference in example.references)
    best = max(example.values)
    rows = []
    for number, (name, made) in enumerate(zip(comparison.systems, example.translations, strict=True)):
        value = example.values[number]
        kind = "of-sentence best" if value == best else "of-sentence"
        label = f'{swatch(number)}{escape(name)} <span class="{kind}">{value:.0f}</span>'
        rows.append(labelled_text(label, marked(made, example.references), target))
    return f"<li><h3>Line {example.line:,}</h3><dl>{source}{references}{''.join(rows)}</dl></li>"
