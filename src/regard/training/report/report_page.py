"""A training run as one HTML page that needs nothing beside it: how good the model is, how it came about, from what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from statistics import median
from typing import Any

from regard.evaluation.differences import marked
from regard.pages.document import document, labelled_text, section
from regard.text.files import replacing
from regard.training.report import figures
from regard.training.report.data import Counted, data_of
from regard.training.report.history import growth, messages, series, trend
from regard.training.report.learning import learning
from regard.training.report.summary import Summary
from regard.training.report.wording import wording

_MESSAGES = 200
_GROWN, _STAGES = 3, 8

WEIGHTS = {
    "averaged": "the mean of the last checkpoints: the model in this folder",
    "best": "the best checkpoint of all validations, in best/",
}
_ABOUT = {
    "loss": ("Loss", "lower is better"),
    "perplexity": ("Perplexity", "lower is better"),
    "source_worth": ("Source's worth", "nats a token, higher is better"),
    "length_ratio": ("Length", "of the translations, relative to the references"),
}
_DIGITS = {"loss": 3, "source_worth": 2, "length_ratio": 3}
_TABLES = {
    "data": "Training data",
    "cleaning": "Which pairs to keep",
    "tokeniser": "How text becomes tokens",
    "model": "The network",
    "training": "Training",
    "validation": "Validation",
}

HOW_TO_READ = """
<details><summary>How to read this</summary>
<p><b>Held-out pairs</b> are sentence pairs that training did not use. Only they show what the model has learned
rather than memorised.</p>
<p><b>Loss</b> is the number that training reduces: how improbable the model finds the correct next token.
<b>Perplexity</b> expresses the same as a number of choices: at 5, the model is as uncertain as if it chose among 5
equally likely tokens.</p>
<p><b>The source's worth</b> is how many nats (units of the loss) a token the loss rises if the sources are exchanged
between sentences. A good translator loses several; a model that ignores its source loses nothing, and does not
translate, however fluent it sounds.</p>
<p><b>BLEU</b> and <b>chrF</b> compare whole translations with the reference, by words and by characters. 100 means
identical to the reference, which even a good human translator does not reach. Compare scores only on the same
sentences and with the same signature.</p>
<p><b>Averaged and best</b>: weights fluctuate from step to step, and the mean of several checkpoints is usually better
than any one of them.</p>
</details>
"""


def write_report(path: Path, summary: Summary) -> None:
    """Writes the page, whole or not at all."""
    with replacing(path) as file:
        file.write(report(summary).encode(errors="replace"))


def report(summary: Summary) -> str:
    """The page."""
    sections = [
        section("in-short", "Summary", _in_short(summary)),
        section("learning", "Learning curves", learning(summary.events)),
        section("samples", wording(summary.task).samples, _samples(summary)),
        section("data", "Training data", _data(summary)),
        section("said", "Messages", _said(summary)),
        section("settings", "Settings", _settings(summary)),
        section("again", "How to reproduce it", _again(summary)),
    ]
    return document(
        title=f"{summary.name}: training report",
        header=_header(summary),
        sections=sections,
        skip=("samples", "Skip to the sample translations"),
        style=files("regard.training.report").joinpath("report.css").read_text(encoding="utf-8"),
    )


def _header(summary: Summary) -> str:
    pages = ", ".join(f'<a href="#{name}">{text}</a>' for name, text in _CONTENTS)
    return (
        f"<h1>{escape(summary.name)}</h1>\n<p>{escape(summary.kind)} model with "
        f"{figures.count(summary.parameters)} parameters{_purpose(summary)}. "
        f"This report shows how it was trained.</p>\n"
        f'<nav aria-label="Contents"><p>{pages}</p></nav>'
    )


def _purpose(summary: Summary) -> str:
    if summary.task != "translation":
        return f" for the task <b>{escape(summary.task)}</b>"
    source, target = (escape(summary.languages.get(side, "?")) for side in ("source", "target"))
    return f" that translates <b>{source}</b> to <b>{target}</b>"


_CONTENTS = (
    ("learning", "curves"),
    ("samples", "translations"),
    ("data", "data"),
    ("said", "messages"),
    ("settings", "settings"),
    ("again", "command"),
)


def _in_short(summary: Summary) -> str:
    """The most important numbers."""
    averaged = summary.scores.get("averaged") or next(iter(summary.scores.values()), {})
    tiles = [
        (figures.value(value, 1), figures.metric_title(name), "of 100, on held-out pairs")
        for name, value in averaged.items()
        if name not in _ABOUT
    ]
    if "perplexity" in averaged:
        tiles.append((figures.perplexity(averaged["perplexity"]), "perplexity", "on held-out pairs"))
    if "source_worth" in averaged:
        tiles.append((figures.value(averaged["source_worth"], 2), "nats a token", "the worth of the source"))
    speed = f"{summary.tokens / summary.seconds:,.0f} per second" if summary.seconds > 0 else ""
    tiles += [
        (figures.count(summary.steps), "steps", ""),
        (figures.duration(summary.seconds), "of training", summary.machine.get("device", "")),
        (_short(summary.tokens), wording(summary.task).tokens, speed),
        *_exchanged(summary),
    ]
    drawn = "".join(
        f"<li><strong>{escape(number)}</strong> {escape(what)}<small>{escape(more)}</small></li>"
        for number, what, more in tiles
    )
    outlook = trend(summary.events)
    return f'<ul class="tiles">{drawn}</ul>{_paragraph(outlook)}{_scores(summary)}{HOW_TO_READ}'


def _exchanged(summary: Summary) -> list[tuple[str, str, str]]:
    """What processes have exchanged in a step, where there were several."""
    sizes, waits = (
        [value for _, value in series(summary.events, "stepped", name).points] for name in ("exchanged", "waited")
    )
    if not any(sizes) or not waits:
        return []
    share = figures.percent(median(waits) * summary.steps, summary.seconds)
    waited = f"{1000 * median(waits):.3g} ms waited" + (f", {share} of the time" if share else "")
    return [(figures.size(median(sizes)), "summed over processes a step", waited)]


def _short(number: int) -> str:
    for unit, name in ((10**9, "billion"), (10**6, "million")):
        if number >= unit:
            return f"{number / unit:.{1 if number < 100 * unit else 0}f} {name}"
    return figures.count(number)


def _paragraph(text: str, kind: str = "plain") -> str:
    return f'<p class="{kind}">{escape(text)}</p>' if text else ""


def _scores(summary: Summary) -> str:
    """A row for each set of weights, with signatures beneath."""
    names = list(dict.fromkeys(name for scores in summary.scores.values() for name in scores))
    if not names:
        return _paragraph(summary.validation) + _paragraph("No scores were measured on held-out pairs.", "remark")
    heads = "".join(f'<th scope="col">{title} <small>{way}</small></th>' for title, way in map(_heading, names))
    rows = "".join(
        f'<tr><th scope="row">{escape(weights)} <small>{escape(WEIGHTS.get(weights, ""))}</small></th>'
        + "".join(f"<td>{_score(name, scores.get(name))}</td>" for name in names)
        + "</tr>"
        for weights, scores in summary.scores.items()
    )
    penalty = summary.search.get("length_penalty")
    chosen = f"The length penalty of this model, chosen on these pairs, is {penalty:g}." if penalty is not None else ""
    signatures = "".join(
        f"<dt>{escape(figures.metric_title(name))}</dt><dd><code>{escape(signature)}</code></dd>"
        for name, signature in summary.signatures.items()
    )
    return (
        f"{_paragraph(summary.validation)}{_wide('Scores', f'<thead><tr><td></td>{heads}</tr></thead>', rows)}"
        f"{_paragraph(chosen)}"
        f'<h3>Signatures</h3><dl class="signatures">{signatures}</dl>'
    )


def _heading(name: str) -> tuple[str, str]:
    if name in _ABOUT:
        return _ABOUT[name]
    from regard.metrics import metric, metrics

    if name not in metrics():
        return escape(name), ""
    found = metric(name)
    return escape(found.title), "higher is better" if found.higher_is_better else "lower is better"


def _score(name: str, value: Any) -> str:
    if value is None:
        return ""
    if name == "perplexity":
        return figures.perplexity(value)
    return figures.value(value, _DIGITS.get(name, 1))


def _wide(label: str, head: str, rows: str) -> str:
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="{escape(label)}"><table>{head}'
        f"<tbody>{rows}</tbody></table></div>"
    )


def _samples(summary: Summary) -> str:
    if not summary.samples:
        return _paragraph("No samples were translated.")
    source, target = (summary.languages.get(side, "") for side in ("source", "target"))
    words = wording(summary.task)
    given, right, said = words.sides
    cards = "".join(
        f"<li><dl>{labelled_text(given, escape(text), source)}"
        f"{labelled_text(right, escape(reference), target)}"
        f"{labelled_text(said, marked(made, [reference]), target)}</dl></li>"
        for text, reference, made in summary.samples
    )
    return (
        f"<p>{words.about_samples}</p>"
        '<label class="switch"><input type="checkbox" id="missing" checked> Show missing words</label>'
        f'<ol class="examples">{cards}</ol>{_growth(summary, source, target)}'
    )


def _growth(summary: Summary, source: str, target: str) -> str:
    """The same sentence at several steps: what learning looks like."""
    grown = [(sample, stages) for sample, stages in growth(summary.events, most=_STAGES).items() if len(stages) > 1]
    if not grown:
        return ""
    cards = []
    for (text, reference), stages in grown[:_GROWN]:
        rows = "".join(
            labelled_text(f"step {step:,}", escape(made) or '<em class="nothing">nothing</em>', target)
            for step, made in stages
        )
        first = labelled_text("source", escape(text), source) + labelled_text("reference", escape(reference), target)
        cards.append(f"<li><dl>{first}{rows}</dl></li>")
    return f'<h3>How translations improved</h3><ol class="examples">{"".join(cards)}</ol>'


def _data(summary: Summary) -> str:
    data = data_of(summary.corpus)
    dropped = sum(counted.pairs for counted in data.dropped)
    share = f" ({figures.percent(data.kept, data.looked_at)})" if dropped else ""
    told = f"{data.kept:,} of {data.looked_at:,} {wording(summary.task).units} were kept{share}."
    vocabulary = ", ".join(f"{escape(side)} {number:,}" for side, number in summary.vocabulary.items())
    sizes = f"<p>Size of the vocabulary: {vocabulary}.</p>" if vocabulary else ""
    tables = [
        _counts("Dropped", "Pairs that training did not use", data.dropped, data.looked_at),
        _counts("Changed", "Pairs that were normalised and kept", data.changed, data.looked_at),
        _counts("Skipped", "Entries that are not sentence pairs", data.passed_over, None),
        _counts("Bad input", "Lines or files that could not be read", data.bad, None),
    ]
    files_read = "".join(f"<li><code>{escape(str(name))}</code></li>" for name in _files(summary))
    listed = f'<h3>Files</h3><ul class="files">{files_read}</ul>' if files_read else ""
    return f'<p>{told}</p>{sizes}<div class="counts">{"".join(tables)}</div>{listed}'


def _files(summary: Summary) -> Sequence[Any]:
    found = summary.recipe.get("data", {}).get("files", ())
    return found if isinstance(found, list | tuple) else [found]


def _counts(title: str, about: str, counts: Sequence[Counted], whole: int | None) -> str:
    """A table of reasons, with a bar for each."""
    if not counts:
        return ""
    top = max(counted.pairs for counted in counts) or 1
    rows = "".join(
        f'<tr><th scope="row">{escape(counted.why)}</th><td>{counted.pairs:,}'
        f"{_small(figures.percent(counted.pairs, whole))}</td>"
        f'<td class="meter" aria-hidden="true"><i style="width:{100 * counted.pairs / top:.1f}%"></i></td></tr>'
        for counted in counts
    )
    return f"<article><h3>{title} <small>{about}</small></h3><table>{rows}</table></article>"


def _small(text: str) -> str:
    return f" <small>{text}</small>" if text else ""


def _said(summary: Summary) -> str:
    found = messages(summary.events)
    if not found:
        return _paragraph("No messages.")
    left_out = len(found) - _MESSAGES
    note = f"The first {_MESSAGES:,} messages; {left_out:,} more are in metrics.jsonl." if left_out > 0 else ""
    rows = "".join(
        f"<tr><td>{f'step {message.step:,}' if message.step else 'at the start'}</td>"
        f"<td>{figures.duration(message.seconds) if message.seconds else ''}</td>"
        f'<td class="message">{escape(message.text)}</td></tr>'
        for message in found[:_MESSAGES]
    )
    head = '<thead><tr><th scope="col">step</th><th scope="col">time</th><th scope="col">message</th></tr></thead>'
    return _paragraph(note) + _wide("Messages", head, rows)


def _settings(summary: Summary) -> str:
    reasons = "".join(f"<li>{escape(reason)}</li>" for reason in summary.reasons)
    chosen = f"<h3>Why these were chosen</h3><ul>{reasons}</ul>" if reasons else ""
    cards = "".join(
        f"<article><h3><code>[{escape(name)}]</code> <small>{escape(_TABLES.get(name, ''))}</small></h3>"
        f"<dl>{_rows(table)}</dl></article>"
        for name, table in summary.recipe.items()
        if table
    )
    return f'{chosen}<div class="settings">{cards}</div>'


def _rows(table: Mapping[str, Any]) -> str:
    return "".join(
        f"<dt>{escape(str(key))}</dt><dd>{escape(figures.setting(value))}</dd>" for key, value in table.items()
    )


def _again(summary: Summary) -> str:
    machine = "".join(
        f"<dt>{escape(name)}</dt><dd>{escape(str(value))}</dd>" for name, value in summary.machine.items()
    )
    return (
        f"<p>The command:</p><pre><code>{escape(summary.command)}</code></pre>"
        f'<h3>Machine</h3><dl class="machine">{machine}</dl>'
    )
