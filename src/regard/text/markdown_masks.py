"""Parts of Markdown that its parser does not know: containers (`:::tip`), math and front matter.

A copy of the text is made in which they are hidden, with every character in its place: blocks become blank lines, and
math within a line becomes characters that stand for nothing else. What is written gets its math back.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_FIRST, _LAST = 0xE000, 0xF8FF  # characters for private use
_FRONT = re.compile(r"\A(---|\+\+\+)[ \t]*\r?\n(?:.*?\n)??\1[ \t]*(?=\r?\n|\Z)", re.DOTALL)
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})[^\n]*\n.*?(?:^ {0,3}\1[`~]*[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)
_CONTAINER = re.compile(
    r"^[ \t>]*(:{3,}[ \t]*(?:[A-Za-z][\w-]*)?(?:\{[^}\n]*\})?)(?:\[([^\]\n]+)\]|[ \t]+([^\s{][^{\n]*?))?"
    r"[ \t]*(?:\{[^}\n]*\})?[ \t]*\r?$",
    re.MULTILINE,
)
_DISPLAY = re.compile(r"^[ \t]*\$\$[ \t]*\n.*?^[ \t]*\$\$[ \t]*$", re.DOTALL | re.MULTILINE)
_CODE = r"(?P<ticks>`+)(?!`).+?(?<!`)(?P=ticks)(?!`)"
_MATH = re.compile(
    rf"{_CODE}|(?P<math>\$\$[^$]+\$\$|(?<![\\$\w])\$(?![\s$])[^$\n]*?(?<![\s\\])\$(?![\d$])|\\\(.+?\\\)|\\\[.+?\\\])", re.DOTALL
)
_RUN = re.compile("([\ue000-\uf8ff])\\1*")
_YAML = re.compile(
    r"""^(?P<key>title|description|summary|subtitle|tagline|excerpt|abstract|sidebar_label|sidebarTitle|linkTitle)"""
    r"""[ \t]*(?::[ \t]+|=[ \t]*)(?P<value>"(?:[^"\\\n]|\\.)*"|'(?:[^'\n]|'')*'|[^\s"'\[{|>&*!%@`#][^\n]*?)[ \t]*\r?$""",
    re.MULTILINE,
)


class Span(NamedTuple):
    """From where to where."""

    start: int
    end: int


class Masked(NamedTuple):
    """A text as the parser is to see it, its math, and the titles of its containers and of the whole."""

    text: str
    math: dict[str, str]  # the character that stands for it, and how it is written
    titles: tuple[Span, ...]
    front: tuple[Span, ...]  # values, with their quotes

    def unmasked(self, text: str) -> str:
        """A text with its math."""
        return _RUN.sub(lambda found: self.math.get(found[1], found[0]), text)

    def masked(self, text: str) -> str:
        """A text without its math."""
        for character, written in self.math.items():
            text = text.replace(written, character * len(written))
        return text


def mask(text: str) -> Masked:
    """The text without what the parser does not know."""
    shown, math = list(text), dict[str, str]()
    front = _FRONT.match(text)
    fences = [found.span() for found in _FENCE.finditer(text)]
    values: list[Span] = []
    if front:
        values = [Span(*found.span("value")) for found in _YAML.finditer(text, 0, front.end())]
        _blank(shown, text, *front.span())
    titles = []
    for found in _outside(_CONTAINER.finditer(text), fences):
        title = next((Span(*found.span(group)) for group in (2, 3) if found[group]), None)
        titles += [title] if title else []
        _blank(shown, text, found.start(1), found.end())
    for found in _outside(_DISPLAY.finditer(text), fences):
        _blank(shown, text, *found.span())
    if _RUN.search(text):
        return Masked("".join(shown), {}, tuple(titles), tuple(values))
    hidden = "".join(shown)
    for found in _outside(_MATH.finditer(hidden), fences):
        if found["math"] and _FIRST + len(math) <= _LAST and "\n\n" not in found["math"]:
            character = chr(_FIRST + len(math))
            math[character] = found["math"]
            shown[found.start() : found.end()] = character * len(found["math"])
    return Masked("".join(shown), math, tuple(titles), tuple(values))


def _blank(shown: list[str], text: str, start: int, end: int) -> None:
    shown[start:end] = re.sub(r"[^\r\n]", " ", text[start:end])


def _outside(found: Iterator[re.Match[str]], spans: list[tuple[int, int]]) -> Iterator[re.Match[str]]:
    return (one for one in found if not any(start <= one.start() < end for start, end in spans))
