"""Labels that a model takes for others, as one HTML page that needs nothing beside it."""

from __future__ import annotations

from html import escape
from pathlib import Path

from regard.evaluation.other_tasks import Measured
from regard.metrics.labels import LabelScores
from regard.pages.document import document, labelled_text, section
from regard.text.files import replacing

_EXAMPLES = 50  # wrong ones that are shown
_STYLE = """
.confusion td { text-align: right; font-variant-numeric: tabular-nums; }
.confusion td.right { font-weight: bold; }
"""


def write_confusion(path: Path, found: Measured) -> None:
    """Writes the page, whole or not at all."""
    with replacing(path) as file:
        file.write(confusion_page(found).encode(errors="replace"))


def confusion_page(found: Measured) -> str:
    """The page."""
    assert found.labels
    sections = [
        section("scores", "Scores", _scores(found)),
        section("confusion", "Which labels are taken for which", _confusion(found.labels)),
        section("labels", "By label", _by_label(found)),
        section("errors", "Wrong ones", _errors(found)),
    ]
    title = f"{Path(found.model).name} on {Path(found.held_out).name}"
    header = f"<h1>{escape(title)}</h1>\n<p>{found.examples:,} examples that the model was measured on.</p>"
    skip = ("confusion", "Skip to the table of labels")
    return document(title=title, header=header, sections=sections, skip=skip, style=_STYLE)


def _scores(found: Measured) -> str:
    tiles = "".join(
        f"<li><strong>{value:.2f}</strong> {escape(name.replace('_', ' '))}<small>of 100</small></li>"
        for name, value in found.scores.items()
    )
    return f'<ul class="tiles">{tiles}</ul>'


def _confusion(labels: LabelScores) -> str:
    """A row for each right label, a column for each predicted one."""
    names = list(labels.by_label)
    heads = "".join(f'<th scope="col">{escape(name)}</th>' for name in names)
    rows = "".join(
        f'<tr><th scope="row">{escape(right)}</th>{"".join(_cell(labels, right, name) for name in names)}</tr>'
        for right in names
    )
    return (
        "<p>Rows are right labels, columns are what the model said. The redder a cell, the larger its share of the "
        'row.</p><div class="wide" tabindex="0" role="region" aria-label="Confusion"><table class="confusion">'
        f"<thead><tr><td></td>{heads}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _cell(labels: LabelScores, right: str, name: str) -> str:
    count = labels.confusion.get((right, name), 0)
    share = 100 * count / max(1, labels.by_label[right].there)
    if right == name:
        return f'<td class="right">{count or ""}</td>'
    return f'<td style="background:rgb(221 51 51 / {share:.0f}%)">{count or ""}</td>'


def _by_label(found: Measured) -> str:
    heads = "".join(f'<th scope="col">{name}</th>' for name in ("precision", "recall", "F1", "found", "there"))
    rows = "".join(
        f'<tr><th scope="row">{escape(name)}</th><td>{table["precision"]:.1f}</td><td>{table["recall"]:.1f}</td>'
        f"<td>{table['f1']:.1f}</td><td>{table['found']:,}</td><td>{table['there']:,}</td></tr>"
        for name, table in found.details.items()
    )
    return (
        '<div class="wide" tabindex="0" role="region" aria-label="By label"><table class="confusion">'
        f"<thead><tr><td></td>{heads}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _errors(found: Measured) -> str:
    wrong = [
        (example, predicted)
        for example, predicted in zip(found.right, found.predicted, strict=True)
        if " ".join(example.labels) != predicted
    ]
    cards = "".join(
        f"<li><dl>{labelled_text('text', escape(example.text), '')}"
        f"{labelled_text('right', escape(' '.join(example.labels)), '')}"
        f"{labelled_text('predicted', escape(predicted), '')}</dl></li>"
        for example, predicted in wrong[:_EXAMPLES]
    )
    told = f"<p>{len(wrong):,} of {found.examples:,} examples are wrong; the first {min(len(wrong), _EXAMPLES)}:</p>"
    return f'{told}<ol class="examples">{cards}</ol>'
