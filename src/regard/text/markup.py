"""XML as a stream: elements one by one, forgotten once they have been looked at, and nothing fetched from anywhere."""

from __future__ import annotations

import codecs
import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from lxml import etree

from regard.text.bad_input import BadInput, Problem
from regard.text.files import MAX_CHARACTERS, DamagedFile, blocks, replacing
from regard.text.lines import cannot_hold

LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"

_BLOCK = 1 << 16
DEFINITIONS = re.compile(r"<!DOCTYPE[^>\[]*\[\s*[^\]\s]")


def elements(path: Path, tags: Collection[str], bad: BadInput) -> Iterator[tuple[str, etree._Element]]:
    """The elements of these names, in any namespace: ("start", element) with its attributes, ("end", element) whole.

    An element is emptied after its end has been looked at, and so is everything before it.
    """
    parser = etree.XMLPullParser(
        events=("start", "end"),
        tag=[f"{{*}}{tag}" for tag in tags],
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=False,
    )
    line, looked = 1, False
    try:
        for block in _blocks(path, bad):
            broken = _feed(parser, block)
            for event, element in cast("Iterator[tuple[str, etree._Element]]", parser.read_events()):  # noqa: SLF001
                if not looked and defines(element):
                    return _refuse(path, bad)
                looked = True
                yield event, element
                if event == "end":
                    _forget(element)
            if broken:
                return bad.file(Problem.XML, path, broken.lineno or line, f"this is not valid XML: {broken.msg}.")
            line += block.count(b"\n")
    except DamagedFile as damage:
        bad.file(Problem.DAMAGED, path, line, str(damage))


def local(element: etree._Element) -> str:
    """The name of an element without its namespace."""
    return etree.QName(element).localname


def line_of(element: etree._Element) -> int:
    """The line on which an element starts."""
    return cast("int | None", element.sourceline) or 1


def defines(element: etree._Element) -> bool:
    """Whether the document brings definitions of its own, where they were not seen in its first block."""
    definitions = cast("Any", element.getroottree().docinfo.internalDTD)
    return definitions is not None and any((*definitions.iterentities(), *definitions.iterelements()))


def text_of(element: etree._Element, hidden: Collection[str], path: Path, bad: BadInput) -> str | None:
    """The text of a segment without that of the elements named in `hidden`; None where `bad` has counted it as bad."""
    parts: list[str] = []
    try:
        _collect(element, hidden, parts)
    except ValueError as error:
        bad.line(Problem.ENTITIES, path, line_of(element), f"the entity {error} is not predefined in XML.")
        return None
    text = "".join(parts)
    if len(text) > MAX_CHARACTERS:
        what = f"this segment is longer than {MAX_CHARACTERS:,} characters."
        bad.line(Problem.TOO_LONG, path, line_of(element), what)
        return None
    return text


@contextmanager
def writing(path: Path) -> Iterator[etree._IncrementalFileWriter]:
    """A new XML file to be written element by element."""
    with replacing(path) as file, etree.xmlfile(file, encoding="utf-8") as document:
        document.write_declaration()
        yield document


def add_text(parent: etree._Element, tag: str, text: str, path: Path, number: int) -> None:
    """A child of `parent` that holds a text of pair `number`."""
    try:
        etree.SubElement(parent, tag).text = text
    except ValueError:
        raise cannot_hold(path, number, "a character that XML forbids") from None


def _blocks(path: Path, bad: BadInput) -> Iterator[bytes]:
    """The blocks of a file that is not empty and brings no definitions; an empty block stands for its end."""
    source = blocks(path, size=_BLOCK)
    first = next(source, b"")
    utf16 = first.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or b"\0" in first[:4]
    opening = first.replace(b"\0", b"") if utf16 else first
    if not first:
        bad.file(Problem.EMPTY_FILE, path, None, "this file is empty.")
    elif DEFINITIONS.search(opening.decode("latin-1")):
        _refuse(path, bad)
    else:
        yield first
        yield from source
        yield b""


def _feed(parser: etree.XMLPullParser, block: bytes) -> etree.XMLSyntaxError | None:
    """Feeds the parser one more block, or closes it after the last."""
    try:
        if block:
            parser.feed(block)
        else:
            parser.close()
    except etree.XMLSyntaxError as error:
        return error
    return None


def _refuse(path: Path, bad: BadInput) -> None:
    bad.file(Problem.ENTITIES, path, None, "the DOCTYPE of this file defines entities or elements.")


def _forget(element: etree._Element) -> None:
    element.clear()
    parent = element.getparent()
    while parent is not None and element.getprevious() is not None:
        del parent[0]


def _collect(element: etree._Element, hidden: Collection[str], parts: list[str]) -> None:
    parts.append(element.text or "")
    for child in element:
        if child.tag is etree.Entity:
            raise ValueError(child.text)
        if isinstance(child.tag, str) and local(child) not in hidden:
            _collect(child, hidden, parts)
        parts.append(child.tail or "")
