"""What Regard's pages have in common: one HTML document that needs nothing beside it, in one style."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from importlib.resources import files

from regard.version import __version__

COLOURS = 6  # of the style; more systems or curves than that begin again


def document(
    *, title: str, header: str, sections: Sequence[str], skip: tuple[str, str], style: str = "", script: str = ""
) -> str:
    """The page; `skip` is the section that keyboard users can skip to, and the text of that link.

    `script` is what makes it move, if anything does: elements that stand at the end of the body, HTML already.
    """
    shared = files("regard.pages").joinpath("page.css").read_text(encoding="utf-8")
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
{script}</body>
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
