"""What Regard's pages have in common: one HTML document that needs nothing beside it, in one style."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from importlib.resources import files

from regard.evaluation.charts import COLOURS
from regard.evaluation.differences import Change, word_differences
from regard.version import __version__

_TAGS = {Change.KEPT: "", Change.ADDED: "ins", Change.MISSING: "del"}


def document(*, title: str, header: str, sections: Sequence[str], skip: tuple[str, str], style: str = "") -> str:
    """The page; `skip` is the section that whoever uses a keyboard can go to at once, and what it is called."""
    shared = files("regard.evaluation").joinpath("page.css").read_text(encoding="utf-8")
    main = "\n".join(sections)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{escape(title)}</title>
<style>
{shared}{style}</style>
</head>
<body>
<a class="skip" href="#{skip[0]}">{escape(skip[1])}</a>
<header>
{header}
</header>
<main>
{main}
</main>
<footer>Made with Regard {__version__}.</footer>
</body>
</html>
"""


def section(name: str, heading: str, body: str) -> str:
    """A part of the page with its heading, which links can lead to."""
    return f'<section aria-labelledby="{name}"><h2 id="{name}" tabindex="-1">{escape(heading)}</h2>\n{body}\n</section>'


def swatch(number: int) -> str:
    """The colour of a system or a curve."""
    return f'<span class="swatch system-{number % COLOURS}" aria-hidden="true"></span>'


def labelled_text(label: str, text: str, language: str) -> str:
    """A row of a `dl`: what the text is, and the text, both HTML already."""
    code = f' lang="{escape(language)}"' if language else ""
    return f'<dt>{label}</dt><dd dir="auto"{code}>{text}</dd>'


def marked(text: str, references: Sequence[str]) -> str:
    """The text with what differs from the reference marked; of several references, from the one that differs least."""
    candidates = [word_differences(text, reference) for reference in references]
    pieces = min(candidates, key=lambda pieces: sum(len(p.text) for p in pieces if p.change is not Change.KEPT))
    result = "" if text.strip() else '<em class="nothing">nothing</em> '
    for piece in pieces:
        tag = _TAGS[piece.change]
        body = escape(piece.text.rstrip())
        before = " " if piece.change is Change.MISSING and result and not result.endswith(" ") else ""
        after = " " if piece.change is Change.MISSING or piece.text[-1:].isspace() else ""
        result += f"{before}<{tag}>{body}</{tag}>{after}" if tag else f"{body}{after}"
    return result.strip()
