"""ODT, the text documents of LibreOffice: each paragraph and heading is a segment, in notes, frames and tables as well.

Spans and links are tags around text; notes, fields, images, tabs and line breaks are single tags. Comments and tracked
changes stay as they are. In `styles.xml`, headers and footers are translated.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path

from regard.text.content import Content
from regard.text.documents import Asked, Document, Edit, Place, Segment, quoted
from regard.text.inline import Inline
from regard.text.looks import Look
from regard.text.packages import Package, Part, open_package
from regard.text.xml_places import Node, add_text, escaped, tree

SUFFIXES = (".odt", ".ott")
BILINGUAL = False

_PARTS = ("content.xml", "styles.xml")
_AROUND = frozenset({"span", "a", "meta", "ruby", "ruby-base"})
_UNTOUCHED = ("tracked-changes", "annotation")
_TYPE = b"application/vnd.oasis.opendocument.text"


def load(path: Path, encoding: str | None = None) -> Content:  # noqa: ARG001
    """The texts of the package."""
    return open_package(path, _chosen)


def read(content: Content, asked: Asked) -> Document:  # noqa: ARG001
    """The document."""
    assert isinstance(content, Package)
    places = [place for part in content.parts() for place in _places(content, part)]
    return Document(text=content.text, places=tuple(places))


def claims(look: Look) -> bool:
    """By the first entry of the archive, which names the type."""
    return "content.xml" in look.names and _TYPE in look.head


def _chosen(archive: zipfile.ZipFile) -> list[str]:
    return [name for name in _PARTS if name in archive.namelist()]


def _places(content: Content, part: Part) -> Iterator[Place]:
    root = tree(content, (part.start, part.end))
    for number, paragraph in enumerate(root.every("p", "h"), start=1):
        if not paragraph.inside(*_UNTOUCHED):
            yield from _place(content, paragraph, part, number)


def _place(content: Content, paragraph: Node, part: Part, number: int) -> Iterator[Place]:
    built = Inline()
    _walk(content, paragraph, built)
    shown = built.shown()
    if not shown.text:
        return

    def put(translation: str) -> list[Edit]:
        return [Edit(paragraph.within, paragraph.without, shown.restored(translation, escaped))]

    yield Place(Segment(source=shown.text, line=number, part=part.name), put)


def _walk(content: Content, node: Node, built: Inline) -> None:
    position = node.within
    for child in node.children:
        add_text(content.text[position : child.start], built, keep=False)
        if child.local in _AROUND and not child.empty and child.within < child.without:
            built.open(quoted(child.start, child.within))
            _walk(content, child, built)
            built.close(quoted(child.without, child.end))
        elif child.local != "soft-page-break":  # where pages broke when the document was saved
            built.alone(quoted(child.start, child.end))
        position = child.end
    add_text(content.text[position : node.without], built, keep=False)
