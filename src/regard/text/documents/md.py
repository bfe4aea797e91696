"""Markdown: paragraphs, headings, list items and table cells are segments, each as one text.

Code, math, HTML blocks, link targets and definitions of links stay as they are; emphasis, links, images and inline code
stay where the translation has their tags. A paragraph of several lines is filled to the width it had. The titles of
containers (`:::tip Title`) are segments, and so are title, description and the like in the front matter.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import NamedTuple

from markdown_it.token import Token

from regard.text.content import Content
from regard.text.documents import Asked, Document, Edit, Place, Segment
from regard.text.inline import LostMarkup, Shown
from regard.text.markdown import Astray, Environment, escaped, inline, markup, parser
from regard.text.markdown_masks import Masked, Span, mask

SUFFIXES = (".md", ".markdown")
BILINGUAL = False

_LINE = re.compile(r"([^\r\n]*)(?:\r\n|\n|\r|\Z)")
_MARKER = re.compile(r"\A(\d+)?(?=[^\w\s])")
_STARTS = re.compile(r"[^\W\d_]|[\"'“„«(\[]|`(?!`)|\*{1,2}\w")
_UNQUOTED = re.compile(r"[^\W_](?:(?!: | #)[^\"'\n])*(?<![\s:])")
_PLAIN = ["paragraph_open", "inline", "paragraph_close"]


class _Block(NamedTuple):
    """Where the content of a block stands, and what stands before its second and later lines."""

    start: int
    end: int
    content: str
    prefix: str = ""
    cell: bool = False
    heading: bool = False  # after hashes; one that is underlined is written like a paragraph


def read(content: Content, asked: Asked) -> Document:  # noqa: ARG001
    """The document."""
    masked = mask(content.text)
    text = masked.text
    lines = [found.span(1) for found in _LINE.finditer(text)]
    environment: Environment = {}
    tokens = parser().parse(text, environment)
    places = [_value(content, span) for span in masked.front]
    for span in masked.titles:
        title = content.text[span.start : span.end]
        token = parser().parseInline(title, environment)[0]
        places += _place(content, _Block(*span, title, heading=True), token, environment, masked)
    row, cursor = -1, 0
    for before, token in pairwise(tokens):
        if token.type != "inline" or not token.map:
            continue
        if before.type in ("th_open", "td_open"):
            first = lines[token.map[0]]
            row, cursor = token.map[0], cursor if row == token.map[0] else first[0]
            block = _cell(text, token.content, cursor, first[1])
            cursor = block.end if block else cursor
        else:
            block = _lines(text, token, lines, heading=before.type == "heading_open" and before.markup[0] == "#")
        if block:
            places += _place(content, block, token, environment, masked)
    return Document(text=content.text, places=tuple(places))


def _cell(text: str, content: str, start: int, end: int) -> _Block | None:
    written = content.replace("|", "\\|")
    found = text.find(written, start, end)
    return _Block(found, found + len(written), content, cell=True) if written and found >= 0 else None


def _lines(text: str, token: Token, lines: list[tuple[int, int]], *, heading: bool) -> _Block | None:
    """The place of a block whose content is the end of each of its lines; of a heading, hashes may follow it."""
    assert token.map
    starts = []
    for number, line in enumerate(token.content.split("\n")):
        start, end = lines[token.map[0] + number]
        found = text.rfind(line.rstrip(), start, end)
        if found < 0 or text[found + len(line.rstrip()) : end].strip(" \t#" if heading else " \t"):
            return None
        starts.append(found)
    if not starts or not token.content:
        return None
    last = token.content.rsplit("\n", 1)[-1].rstrip()
    prefix = text[lines[token.map[0] + 1][0] : starts[1]] if len(starts) > 1 else ""
    return _Block(starts[0], starts[-1] + len(last), token.content, prefix=prefix, heading=heading)


def _place(
    content: Content, block: _Block, token: Token, environment: Environment, masked: Masked
) -> Iterator[Place]:
    try:
        shown = inline(block.content, token.children or [], environment).shown()
    except Astray:
        return
    if not shown.text:
        return
    expected = markup(token.children or [])
    width = max(map(len, block.content.split("\n"))) if "\n" in block.content else 0

    def sound(text: str) -> bool:
        """Whether this is one block with the markup of the source."""
        if text.startswith((":::", "$$")):
            return False
        if block.cell or block.heading:
            return "\n" not in text and markup(parser().parseInline(text, environment)[0].children or []) == expected
        tokens = parser().parse(text, environment)
        return [found.type for found in tokens] == _PLAIN and markup(tokens[1].children or []) == expected

    def put(translation: str) -> list[Edit]:
        text = _written(shown, translation, width, sound)
        text = masked.unmasked(text.replace("|", "\\|") if block.cell else text)
        return [Edit(block.start, block.end, text.replace("\n", content.line_end + block.prefix))]

    yield Place(Segment(source=shown.text, line=content.line(block.start)), put)


def _value(content: Content, span: Span) -> Place:
    """A value in the front matter, which keeps its quotes, and gets some where it needs them."""
    raw = content.text[span.start : span.end]
    quote = raw[0] if raw[0] in "\"'" else ""
    text = raw.strip(quote) if quote else raw
    text = text.replace("''", "'") if quote == "'" else text.replace('\\"', '"') if quote else text

    def put(translation: str) -> list[Edit]:
        plain = not quote and _UNQUOTED.fullmatch(translation)
        if quote == "'":
            written = "'" + translation.replace("'", "''") + "'"
        else:
            escaped_ = translation.replace("\\", "\\\\").replace('"', '\\"')
            written = translation if plain else f'"{escaped_}"'
        return [Edit(span.start, span.end, written)]

    return Place(Segment(source=text, line=content.line(span.start)), put)


def _written(shown: Shown, translation: str, width: int, sound: Callable[[str], bool]) -> str:
    """The translation with as few escapes as keep it the one block that its source was."""
    for escape in (str, escaped):
        text = "\n".join(_filled(line, width) for line in shown.restored(translation, escape).split("\n"))
        for candidate in (text, _MARKER.sub(r"\1\\", text, count=1)):
            if sound(candidate):
                return candidate
    raise LostMarkup


def _filled(text: str, width: int) -> str:
    """A text in lines of at most this width, 0 for one line; no line starts with what could be a block's mark."""
    if not width:
        return text
    lines = [""]
    for number, word in enumerate(text.split(" ")):
        if number and len(lines[-1]) + 1 + len(word) > width and _STARTS.match(word):
            lines.append(word)
        else:
            lines[-1] += f" {word}" if number else word
    return "\n".join(lines)
