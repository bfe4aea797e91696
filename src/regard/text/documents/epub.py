"""EPUB: the chapters, the table of contents, and the title and description of a book.

Chapters are XHTML and are translated as HTML is. Everything else in the archive stays, in its order.
"""

from __future__ import annotations

import posixpath
import zipfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from urllib.parse import unquote

from regard.errors import TextError
from regard.text.content import Content
from regard.text.documents import Asked, Document, Edit, Place, Segment
from regard.text.hypertext import Page
from regard.text.inline import Inline
from regard.text.looks import Look
from regard.text.markup import DEFINITIONS
from regard.text.packages import Package, Part, open_package, text_in
from regard.text.pairs import serves
from regard.text.xml_places import Node, add_text, escaped, tree

SUFFIXES = (".epub",)
BILINGUAL = False

_CONTAINER = "META-INF/container.xml"
_CHAPTER, _CONTENTS = "application/xhtml+xml", "application/x-dtbncx+xml"


def load(path: Path, encoding: str | None = None) -> Content:  # noqa: ARG001
    """The texts of the book."""
    return open_package(path, partial(_chosen, path))


def read(content: Content, asked: Asked) -> Document:
    """The document."""
    assert isinstance(content, Package)
    places, besides = list[Place](), list[Edit]()
    for number, part in enumerate(content.parts()):
        if number == 0:
            root = tree(content, (part.start, part.end))
            besides += _languages(content, root, asked)
            places += [_plain(content, node, part) for node in root.every("title", "description")]
        elif part.name.endswith(".ncx"):
            root = tree(content, (part.start, part.end))
            places += [_plain(content, node, part) for node in root.every("text")]
        else:
            page = _page(content, part, asked)
            places += page.places
            besides += page.besides
    kept = tuple(place for place in places if place.segment.source)
    return Document(text=content.text, places=kept, besides=tuple(besides))


def claims(look: Look) -> bool:
    """By the first entry of the archive, which names the type."""
    return _CONTAINER in look.names and b"application/epub+zip" in look.head


def _chosen(path: Path, archive: zipfile.ZipFile) -> list[str]:
    """The package document, then the texts that it lists."""
    container = Content(path=Path(f"{path}/{_CONTAINER}"), text=text_in(path, archive, _CONTAINER))
    found = next(tree(container).every("rootfile"), None) if container.text else None
    name = found.attributes.get("full-path", "") if found else ""
    package = Content(path=Path(f"{path}/{name}"), text=text_in(path, archive, name))
    if not package.text:
        raise TextError(
            f"{path}: this is not EPUB: {_CONTAINER} in it does not lead to a package document.\n"
            "  Check the file with: epubcheck"
        )
    folder, there = posixpath.dirname(name), set(archive.namelist())
    listed = [posixpath.normpath(posixpath.join(folder, href)) for href in _texts(tree(package))]
    return [name, *dict.fromkeys(text for text in listed if text in there and text != name)]


def _texts(package: Node) -> Iterator[str]:
    for item in package.every("item"):
        if item.attributes.get("media-type") in (_CHAPTER, _CONTENTS):
            yield unquote(item.attributes.get("href", ""))


def _languages(content: Content, package: Node, asked: Asked) -> Iterator[Edit]:
    if asked.languages is None:
        return
    for node in package.every("language"):
        stated = content.text[node.within : node.without].strip()
        if stated and serves(asked.languages.source, stated) and stated != asked.languages.target:
            yield Edit(node.within, node.without, asked.languages.target)


def _page(content: Content, part: Part, asked: Asked) -> Page:
    if DEFINITIONS.search(content.text, part.start, part.end):
        what = f"the DOCTYPE of {part.name} in this file defines entities or elements."
        raise content.wrong(None, what, "For safety, Regard does not read XML that defines its own entities.")
    page = Page(content, part.start, part.end, xml=True, part=part.name)
    page.read(asked.languages)
    return page


def _plain(content: Content, node: Node, part: Part) -> Place:
    built = Inline()
    add_text(content.text[node.within : node.without], built, keep=False)
    shown = built.shown()

    def put(translation: str) -> list[Edit]:
        return [Edit(node.within, node.without, shown.restored(translation, escaped))]

    line = content.line(node.start) - content.line(part.start) + 1
    return Place(Segment(source=shown.text, line=line, part=part.name), put)
