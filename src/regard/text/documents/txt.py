"""Plain text: each line is a segment; blank lines, indentation and line ends stay."""

from __future__ import annotations

import re

from regard.text.content import Content
from regard.text.documents import Asked, Document, Edit, Place, Segment

SUFFIXES = (".txt",)
BILINGUAL = False

_LINE = re.compile(r"^[^\S\n]*(\S(?:[^\n]*\S)?)[^\S\n]*$", re.MULTILINE)


def read(content: Content, asked: Asked) -> Document:  # noqa: ARG001
    """The document."""
    places = []
    for found in _LINE.finditer(content.text):
        start, end = found.span(1)

        def put(translation: str, start: int = start, end: int = end) -> list[Edit]:
            return [Edit(start, end, translation)]

        places.append(Place(Segment(source=found[1], line=content.line(start)), put))
    return Document(text=content.text, places=tuple(places))
