"""The page that `regard translate --report` writes: what the checks found, segment by segment. It needs no script."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from regard.pages.document import document, section
from regard.translation.review import UNSURE, Near, Review, Segment

_STYLE = """
td.source, td.text { max-width: 28rem; overflow-wrap: anywhere; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
li.finding { list-style: none; }
ul.findings { margin: 0; padding: 0; }
"""
_EXPLAINED = {
    "characters": "characters that neither the source nor the model's training text has",
    "copied": "text that stayed in the language of the source",
    "length": "translations that are much shorter or longer than their source",
    "markup": "tags that are missing, invented or wrongly nested",
    "numbers": "numbers that are missing or invented",
    "placeholders": "placeholders that are missing, invented or out of order",
    "repetition": "words that are repeated",
    "sentences": "texts with more sentences than their translation",
    "terms": "glossary terms that would make the sentence worse",
    "unfinished": "translations that break off",
    "units": "units or currencies that are missing",
    "words": "translations without words",
}


def review_page(review: Review, *, title: str, languages: Mapping[str, str]) -> str:
    """The page."""
    found = [segment for segment in review.worth_a_look if segment.findings]
    unsure = sorted((one for one in review.worth_a_look if not one.findings), key=lambda one: one.confidence)
    told = review.summary() or f"The checks found nothing in {review.segments:,} segments."
    header = f"<h1>{escape(title)}</h1>\n<p>{escape(told)}</p>"
    sections = [section("checks", "What was found", _counts(review))]
    if found:
        sections.append(section("segments", "Segments with findings", _table(found, languages)))
    if unsure:
        what = f"<p>The checks found nothing here, but the model's confidence is below {UNSURE:g}.</p>"
        sections.append(section("unsure", "Segments that the model is unsure of", what + _table(unsure, languages)))
    if review.near:
        what = "<p>Regard did not take these pairs, because their sources are not quite those of the segments.</p>"
        sections.append(section("near", "Near matches of the translation memory", what + _near(review.near, languages)))
    return document(
        title=title, header=header, sections=sections, skip=("checks", "Skip to the findings"), style=_STYLE
    )


def _counts(review: Review) -> str:
    if not review.checks:
        return "<p>Nothing.</p>"
    rows = "".join(
        f'<tr><th scope="row">{escape(check)}</th><td class="number">{count:,}</td>'
        f"<td>{escape(_EXPLAINED.get(check, ''))}</td></tr>\n"
        for check, count in review.checks.most_common()
    )
    head = '<tr><th scope="col">check</th><th scope="col">segments</th><th scope="col">what it finds</th></tr>'
    return f"<table>\n<thead>{head}</thead>\n<tbody>{rows}</tbody>\n</table>"


def _table(segments: Sequence[Segment], languages: Mapping[str, str]) -> str:
    head = "".join(
        f'<th scope="col">{name}</th>' for name in ("where", "source", "translation", "findings", "confidence")
    )
    rows = "\n".join(_row(segment, languages) for segment in segments)
    return f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\n</tbody>\n</table>"


def _near(offered: Sequence[Near], languages: Mapping[str, str]) -> str:
    """A row for each match; what belongs to the segment stands beside the first."""
    names = ("where", "source", "translation", "source in the memory", "translation in the memory", "alike")
    head = "".join(f'<th scope="col">{name}</th>' for name in names)
    source, target = (languages.get(side, "") for side in ("source", "target"))
    rows = list[str]()
    for one in offered:
        span = f' rowspan="{len(one.matches)}"'
        segment = f"<td{span}>{escape(one.where)}</td>" + _text("source", one.source, source, span)
        segment += _text("text", one.text, target, span)
        for match in one.matches:
            pair = _text("source", match.source, source) + _text("text", match.target, target)
            rows.append(f'<tr>{segment}{pair}<td class="number">{match.ratio:.0%}</td></tr>')
            segment = ""
    joined = "\n".join(rows)
    return f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{joined}\n</tbody>\n</table>"


def _row(segment: Segment, languages: Mapping[str, str]) -> str:
    findings = "".join(
        f'<li class="finding"><b>{escape(one.check)}</b>: {escape(one.detail)}</li>' for one in segment.findings
    )
    kept = "<em>The source text stays.</em>" if segment.refused else ""
    target = languages.get("source" if segment.refused else "target", "")
    return (
        f"<tr><td>{escape(segment.where)}</td>{_text('source', segment.source, languages.get('source', ''))}"
        f'{_text("text", segment.text, target)}<td><ul class="findings">{findings}</ul>{kept}</td>'
        f'<td class="number">{segment.confidence:.2f}</td></tr>'
    )


def _text(name: str, text: str, language: str, attributes: str = "") -> str:
    code = f' lang="{escape(language)}"' if language else ""
    return f'<td class="{name}" dir="auto"{code}{attributes}>{escape(text)}</td>'
