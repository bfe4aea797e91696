"""DOCX, the documents of Word: each paragraph is a segment, in tables, text boxes, headers, footers and notes as well.

Word splits text into runs, often for invisible reasons. Neighbouring runs that look alike are one text here; the
look that most of a paragraph has needs no tag, any other one is a tag around text. Links and insertions are tags
around text; images, fields, notes, tabs and breaks are single tags. Comments and deletions stay as they are.
"""

from __future__ import annotations

import re
import zipfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from regard.errors import TextError
from regard.text.content import Content
from regard.text.documents import Asked, Document, Edit, Place, Segment, quoted
from regard.text.inline import Inline
from regard.text.looks import Look
from regard.text.packages import Package, Part, open_package, text_in
from regard.text.xml_places import Node, escaped, tree, unescaped

SUFFIXES = (".docx", ".dotx")
BILINGUAL = False

_TYPES = "[Content_Types].xml"
_TEXTS = re.compile(r"wordprocessingml\.(?:document\.main|template\.main|header|footer|footnotes|endnotes)\+xml")
_AROUND = frozenset({"hyperlink", "ins", "moveTo", "smartTag", "sdt", "dir", "bdo"})
_INVISIBLE = frozenset({"proofErr", "lastRenderedPageBreak"})
_LOOKLESS = re.compile(r"<(?:\w+:)?(?:lang|noProof|webHidden)(?:\s[^<>]*)?/>|<(?:\w+:)?rPr\s*/>")
_BLANK_BUT_SEEN = re.compile(r"<(?:\w+:)?(?:u|strike|dstrike|highlight|shd|bdr)\s")


def load(path: Path, encoding: str | None = None) -> Content:  # noqa: ARG001
    """The texts of the package."""
    return open_package(path, partial(_chosen, path))


def read(content: Content, asked: Asked) -> Document:  # noqa: ARG001
    """The document."""
    assert isinstance(content, Package)
    places = [place for part in content.parts() for place in _places(content, part)]
    return Document(text=content.text, places=tuple(places))


def claims(look: Look) -> bool:
    """By the names in the archive."""
    return _TYPES in look.names and any(name.startswith("word/") for name in look.names)


def _chosen(path: Path, archive: zipfile.ZipFile) -> list[str]:
    types = Content(path=Path(f"{path}/{_TYPES}"), text=text_in(path, archive, _TYPES))
    there = set(archive.namelist())
    parts = tree(types).every("Override") if types.text else ()
    named = [
        part.attributes.get("PartName", "").lstrip("/")
        for part in parts
        if _TEXTS.search(part.attributes.get("ContentType", ""))
    ]
    found = [name for name in named if name in there]
    if not found:
        raise TextError(f"{path}: this is not DOCX: there is no text in it.\n  Save it again as a Word document.")
    return found


def _places(content: Content, part: Part) -> Iterator[Place]:
    root = tree(content, (part.start, part.end))
    name = root.beside("p")
    for number, node in enumerate((found for found in root.every("p") if found.name == name), start=1):
        paragraph = _Paragraph(content, node)
        shown = paragraph.built.shown()
        if not shown.text:
            continue

        def put(translation: str, paragraph: _Paragraph = paragraph) -> list[Edit]:
            restored = paragraph.built.shown().restored(translation, escaped)
            return [Edit(paragraph.start, paragraph.end, paragraph.written(restored))]

        yield Place(Segment(source=shown.text, line=number, part=part.name), put)


class _Piece(NamedTuple):
    """What stands in a paragraph or in something around text: text, a code, or something around pieces."""

    look: str | None  # the properties of its run; None for what is not in a run
    text: str = ""
    code: str = ""  # as an edit writes it
    around: Node | None = None
    within: tuple[_Piece, ...] = ()


@dataclass
class _Paragraph:
    content: Content
    node: Node
    built: Inline = field(default_factory=Inline)
    start: int = 0
    end: int = 0
    look: str = ""  # the one of most of the text
    _looks: dict[str, str] = field(default_factory=dict)  # without invisible properties -> as it was first written

    def __post_init__(self) -> None:
        children = [child for child in self.node.children if child.local != "pPr"]
        last_edited = {_named(child, "id") for child in children if _named(child, "name") == "_GoBack"}
        children = [child for child in children if not (_is_bookmark(child) and _named(child, "id") in last_edited)]
        if children:
            self.start, self.end = children[0].start, children[-1].end
            pieces = _blended(self._pieces(children))
            self.look = _most(pieces)
            self._build(pieces, self.look)

    def written(self, restored: str) -> str:
        """The runs of a translation, without those that would be empty."""
        text = self._begun(self.look) + restored + self._ended()
        text = text.replace(self._text_tag() + f"</{self.node.beside('t')}>", "")
        for look in {self.look, *self._looks.values()}:
            text = text.replace(f"<{self.node.beside('r')}>{look}</{self.node.beside('r')}>", "")
        return text

    def _begun(self, look: str) -> str:
        return f"<{self.node.beside('r')}>{look}{self._text_tag()}"

    def _ended(self) -> str:
        return f"</{self.node.beside('t')}></{self.node.beside('r')}>"

    def _text_tag(self) -> str:
        return f'<{self.node.beside("t")} xml:space="preserve">'

    def _pieces(self, children: list[Node]) -> list[_Piece]:
        pieces, number = list[_Piece](), 0
        while number < len(children):
            child = children[number]
            last = _end_of_field(self.content.text, children, number)
            if last > number:
                pieces.append(_Piece(None, code=quoted(child.start, children[last].end)))
                number = last
            elif child.local == "r":
                pieces += self._run(child)
            elif child.local in _AROUND and (child.child("sdtContent") or child).children:
                inner = child.child("sdtContent") or child
                pieces.append(_Piece(None, around=child, within=tuple(_blended(self._pieces(inner.children)))))
            elif child.local not in _INVISIBLE:
                pieces.append(_Piece(None, code=quoted(child.start, child.end)))
            number += 1
        return pieces

    def _run(self, run: Node) -> Iterator[_Piece]:
        properties = run.child("rPr")
        raw = self.content.text[properties.start : properties.end] if properties else ""
        look = self._looks.setdefault(_LOOKLESS.sub("", raw), raw)
        for child in run.children:
            if child.local == "t":
                text = unescaped(self.content.text[child.within : child.without])
                kept = child.attributes.get("xml:space") == "preserve"
                yield _Piece(look, text=text if kept else text.strip())
            elif child.local not in ("rPr", *_INVISIBLE):
                yield _Piece(look, code=quoted(child.start, child.end))

    def _build(self, pieces: list[_Piece], base: str) -> None:
        """The pieces in order; those of another look than the base have a tag around them."""
        for look, alike in groupby(pieces, key=lambda piece: base if piece.look is None else piece.look):
            group = list(alike)
            if look == base:
                for piece in group:
                    self._add(piece, base)
            elif any(piece.text for piece in group):
                self.built.open(self._ended() + self._begun(look))
                for piece in group:
                    self._add(piece, look)
                self.built.close(self._ended() + self._begun(base))
            else:
                run = (
                    f"<{self.node.beside('r')}>{look}{''.join(piece.code for piece in group)}</{self.node.beside('r')}>"
                )
                self.built.alone(self._ended() + run + self._begun(base))

    def _add(self, piece: _Piece, base: str) -> None:
        if piece.text:
            self.built.text(piece.text)
        elif piece.around:
            inner = piece.around.child("sdtContent") or piece.around
            look = _most(list(piece.within))
            self.built.open(self._ended() + quoted(piece.around.start, inner.within) + self._begun(look))
            self._build(list(piece.within), look)
            self.built.close(self._ended() + quoted(inner.without, piece.around.end) + self._begun(base))
        elif piece.look is not None and piece.code:
            self.built.alone(f"</{self.node.beside('t')}>{piece.code}{self._text_tag()}")
        elif piece.code:
            self.built.alone(self._ended() + piece.code + self._begun(base))


def _is_bookmark(node: Node) -> bool:
    return node.local in ("bookmarkStart", "bookmarkEnd")


def _named(node: Node, local: str) -> str:
    """The value of an attribute, whatever the prefix of its name is."""
    return next((value for name, value in node.attributes.items() if name.rpartition(":")[2] == local), "")


def _most(pieces: list[_Piece]) -> str:
    """The look of most of the text."""
    lengths = Counter[str]()
    for piece in pieces:
        if piece.look is not None:
            lengths[piece.look] += len(piece.text)
    return lengths.most_common(1)[0][0] if lengths else ""


def _blended(pieces: list[_Piece]) -> list[_Piece]:
    """Blanks take the look of what is before them, unless they are seen, as underlined ones are."""
    blended: list[_Piece] = []
    for piece in pieces:
        before = blended[-1].look if blended and blended[-1].text else None
        blank = piece.text and not piece.text.strip() and not _BLANK_BUT_SEEN.search(piece.look or "")
        blended.append(piece._replace(look=before) if blank and before is not None else piece)
    return blended


def _end_of_field(text: str, children: list[Node], first: int) -> int:
    """The number of the child with which the field ends that starts here; that of the child if none does.

    The shown text of a link is to be translated, so a link is not passed as a whole.
    """
    depth = 0
    for number in range(first, len(children)):
        for mark in children[number].every("fldChar"):
            kind = _named(mark, "fldCharType")
            depth += (kind == "begin") - (kind == "end")
        if depth <= 0:
            linked = "HYPERLINK" in text[children[first].start : children[number].end] and number > first
            return first if linked else number
    return first
