r"""Android resources, strings.xml: strings, plurals and arrays are segments.

Resources with `translatable="false"` and references (`@string/ok`) stay, and so does what stands in `xliff:g`. Escapes
of Android (`\'`, `\n`, `\u00e4`), texts in quotes and CDATA are read and written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum

from regard.text.content import Content, read_xml
from regard.text.documents import Asked, Document, Edit, Place, Segment, quoted
from regard.text.inline import Inline, LostMarkup, Shown
from regard.text.looks import Look
from regard.text.tagged import tagged
from regard.text.xml_places import Node, escaped, tree, unescaped

SUFFIXES = ("strings.xml", "plurals.xml", "arrays.xml")
BILINGUAL = False
load = read_xml

_ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{4}|.)", re.DOTALL)
_NAMED = {"n": "\n", "t": "\t"}
_REFERENCE = re.compile(r"\s*[@?](?:\+?[\w.]+:)?[\w.]+/[\w.]+\s*")
_CDATA = re.compile(r"\s*<!\[CDATA\[((?:(?!\]\]>).)*)\]\]>\s*", re.DOTALL)
_QUOTED = re.compile(r'\s*"((?:[^"\\]|\\.)*)"\s*', re.DOTALL)
_SPECIAL = re.compile(r'<!--.*?-->|<!\[CDATA\[.*?\]\]>|(?<!\\)"|&(?!(?:amp|lt|gt|quot|apos|#\w+);)\w+;', re.DOTALL)


class _Writing(Enum):
    """How a text is written: as it is, within quotes, or as data without markup."""

    PLAIN = 1
    QUOTED = 2
    DATA = 3


def read(content: Content, asked: Asked) -> Document:  # noqa: ARG001
    """The document."""
    root = tree(content)
    if root.local != "resources":
        what = f"these are not Android resources: the root is <{root.name}>."
        raise content.wrong(None, what, "Give the format of this file with --format.")
    places = [place for node in _texts(root) for place in _place(content, node)]
    return Document(text=content.text, places=tuple(places))


def claims(look: Look) -> bool:
    """By its root."""
    return look.root == "resources"


def _texts(root: Node) -> Iterator[Node]:
    for child in root.children:
        if child.attributes.get("translatable") == "false":
            continue
        if child.local == "string":
            yield child
        elif child.local in ("plurals", "string-array"):
            yield from (item for item in child.children if item.local == "item")


def _place(content: Content, node: Node) -> Iterator[Place]:
    raw = content.text[node.within : node.without]
    if _REFERENCE.fullmatch(raw):
        return
    start, end, writing = _span(raw)
    start, end = node.within + start, node.within + end
    shown = _shown(content, node, start, end, writing)
    if not shown.text:
        return

    def put(translation: str) -> list[Edit]:
        text = shown.restored(translation, lambda said: _escaped(said, writing))
        if writing is _Writing.DATA and "]]>" in text:
            raise LostMarkup
        text = f"\\{text}" if writing is _Writing.PLAIN and text[:1] in ("@", "?") else text
        return [Edit(start, end, text)]

    yield Place(Segment(source=shown.text, line=content.line(node.start)), put)


def _span(raw: str) -> tuple[int, int, _Writing]:
    """Where in a resource the text stands."""
    for pattern, writing in ((_CDATA, _Writing.DATA), (_QUOTED, _Writing.QUOTED)):
        found = pattern.fullmatch(raw)
        if found:
            return *found.span(1), writing
    return 0, len(raw), _Writing.PLAIN


def _shown(content: Content, node: Node, start: int, end: int, writing: _Writing) -> Shown:
    if writing is _Writing.DATA:
        return tagged(_unescaped(content.text[start:end], keep=True))
    built = Inline()
    _walk(content, node, (start, end), built, keep=writing is _Writing.QUOTED)
    return built.shown()


def _walk(content: Content, node: Node, span: tuple[int, int], built: Inline, *, keep: bool) -> None:
    position, end = span
    for child in node.children:
        _add(content.text[position : child.start], built, keep=keep)
        if child.local == "g" or child.empty:
            built.alone(quoted(child.start, child.end))
        else:
            built.open(quoted(child.start, child.within))
            _walk(content, child, (child.within, child.without), built, keep=keep)
            built.close(quoted(child.without, child.end))
        position = child.end
    _add(content.text[position:end], built, keep=keep)


def _add(raw: str, built: Inline, *, keep: bool) -> None:
    position = 0
    for found in _SPECIAL.finditer(raw):
        built.text(_unescaped(unescaped(raw[position : found.start()]), keep=keep))
        built.alone(found[0])
        position = found.end()
    built.text(_unescaped(unescaped(raw[position:]), keep=keep))


def _unescaped(text: str, *, keep: bool) -> str:
    spaced = text if keep else re.sub(r"\s+", " ", text)
    return _ESCAPE.sub(
        lambda found: chr(int(found[1][1:], 16)) if len(found[1]) == 5 else _NAMED.get(found[1], found[1]), spaced
    )


def _escaped(text: str, writing: _Writing) -> str:
    written = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    written = written if writing is _Writing.QUOTED else written.replace("'", "\\'")
    return written if writing is _Writing.DATA else escaped(written)
