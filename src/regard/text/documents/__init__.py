"""One file per document format, found by its name: `po.py` is the format `po`. To add a format, add a file.

A document is translated in place: its text is read once, its segments know where in the text they stand, and a
translation is an edit there. Everything else keeps its bytes. What such a file holds:

    SUFFIXES: tuple[str, ...]
        the endings of its files' names, compression aside: (".po", ".pot")
    def read(content: Content, asked: Asked) -> Document
        the document; `TextError` where it is not in order, or not in the languages asked for
    BILINGUAL: bool
        whether source and translation stand side by side; if not, the translation takes the place of the source
    def load(path: Path, encoding: str | None = None) -> Content
        optional: the text of a file; if left out, the file has the encoding given, which is UTF-8 by default
    def claims(look: Look) -> bool
        optional: whether a file looks as if it were in this format, whatever its name is
    SHARED: bool
        optional: whether files of other kinds have the same endings, so that a file must also look like this format
    NOT: frozenset[str]
        optional: names that have the ending but are of another kind
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import NamedTuple

from regard.errors import TextError
from regard.settings import nearest
from regard.text.content import Content, read_text
from regard.text.files import bare_name
from regard.text.looks import Look, look_at
from regard.text.pairs import Languages


class SegmentState(Enum):
    """How far a segment has come."""

    UNTRANSLATED = "untranslated"
    UNFINISHED = "unfinished"  # there is a translation, but it is marked: fuzzy in PO, needs-... in XLIFF
    TRANSLATED = "translated"


class Edit(NamedTuple):
    """What is put in the place of the characters from `start` to `end`."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, kw_only=True)
class Segment:
    """A text to be translated.

    Inline markup stands in it as tags: `<g id="1">...</g>` around a text, `<x id="2"/>` alone; a translation must have
    each of them once. A line break is meant as one: the lines are texts of their own.
    """

    source: str
    target: str = ""  # the translation that is there
    state: SegmentState = SegmentState.UNTRANSLATED
    line: int  # of the file, from 1; of a file in a package, the line there
    part: str = ""  # the file within a package
    syntax: str = ""  # of its placeholders, where the format states it: c-format, python-format, ...


class Origin(Enum):
    """Where a translation comes from."""

    MACHINE = "machine"
    MEMORY = "memory"  # a translation memory has exactly this source


class Remarks(NamedTuple):
    """What a document records about a translation, where its format can: its origin, and notes for a reviewer."""

    origin: Origin = Origin.MACHINE
    notes: tuple[str, ...] = ()


UNREMARKED = Remarks()


class Place(NamedTuple):
    """A segment, and the edits that put a translation of it into the document; `LostMarkup` where tags are missing.

    `recording` does the same and records remarks; None where the format has no place for them.
    """

    segment: Segment
    put: Callable[[str], list[Edit]]
    recording: Callable[[str, Remarks], list[Edit]] | None = None

    def edits(self, translation: str, remarks: Remarks = UNREMARKED) -> list[Edit]:
        """The edits for a translation and what is to be recorded about it."""
        return self.recording(translation, remarks) if self.recording else self.put(translation)


def quoted(start: int, end: int) -> str:
    """Stands in the text of an edit for the document's own text from start to end, with the edits there."""
    return f"\x01{start}:{end}\x01"


@dataclass(frozen=True, kw_only=True)
class Document:
    """A text, the places of its segments in their order, and edits that come with the first translation.

    An edit may lie within another one that quotes its place.
    """

    text: str
    places: tuple[Place, ...]
    besides: tuple[Edit, ...] = ()

    @cached_property
    def segments(self) -> tuple[Segment, ...]:
        """The segments in order."""
        return tuple(place.segment for place in self.places)

    def translated(self, translations: Mapping[int, str], remarks: Mapping[int, Remarks] | None = None) -> str:
        """The text with translations of the segments of these numbers, from 0; all else is as it was."""
        recorded = remarks or {}
        edits = [
            edit
            for number, text in translations.items()
            for edit in self.places[number].edits(text, recorded.get(number, UNREMARKED))
        ]
        edits += self.besides if translations else ()
        return _Edited(self.text, edits).between(0, len(self.text) + 1)


class _Edited:
    """A text and the edits of it."""

    _QUOTED = re.compile("\x01(\\d+):(\\d+)\x01")

    def __init__(self, text: str, edits: list[Edit]) -> None:
        self._text = text
        self._edits = sorted(dict.fromkeys(edits), key=lambda edit: edit[:2])
        self._starts = [edit.start for edit in self._edits]

    def between(self, start: int, end: int) -> str:
        """The text from start to end with the edits there."""
        parts, position = [], start
        for edit in self._edits[bisect_left(self._starts, start) : bisect_left(self._starts, end)]:
            if edit.end > end:
                continue  # around this
            if edit.start < position:
                assert edit.end <= position, "edits overlap"
                continue  # within the edit before
            parts += [self._text[position : edit.start], self._resolved(edit.text)]
            position = edit.end
        return "".join([*parts, self._text[position:end]])

    def _resolved(self, text: str) -> str:
        if "\x01" not in text:
            return text
        return self._QUOTED.sub(lambda found: self.between(int(found[1]), int(found[2])), text)


class Asked(NamedTuple):
    """What is asked of a format: from which language into which, and whether translations are marked for review."""

    languages: Languages | None
    marked: bool = True


class Format(NamedTuple):
    """A document format, as its file describes it."""

    name: str
    suffixes: tuple[str, ...]
    bilingual: bool
    load: Callable[[Path, str | None], Content]
    read: Callable[[Content, Asked], Document]
    claims: Callable[[Look], bool]
    shared: bool
    not_: frozenset[str]


@cache
def formats() -> dict[str, Format]:
    """All document formats by name."""
    names = sorted(module.name for module in iter_modules(__path__))
    modules = {name: import_module(f"{__name__}.{name}") for name in names}
    return {
        name: Format(
            name,
            found.SUFFIXES,
            found.BILINGUAL,
            getattr(found, "load", read_text),
            found.read,
            getattr(found, "claims", lambda _: False),
            getattr(found, "SHARED", False),
            getattr(found, "NOT", frozenset()),
        )
        for name, found in modules.items()
    }


def by_name(name: str) -> Format:
    """The document format of this name."""
    try:
        return formats()[name]
    except KeyError:
        raise TextError(f"There is no document format {name!r}: {nearest(name, list(formats()))}") from None


def by_path(path: Path) -> Format | None:
    """The document format that the ending of this file's name says."""
    name = bare_name(path).lower()
    found = next((found for found in formats().values() if name.endswith(found.suffixes)), None)
    if found is None or name in found.not_:
        return None
    return None if found.shared and path.is_file() and not found.claims(look_at(path)) else found


def by_content(path: Path) -> Format | None:
    """The document format that a file looks like."""
    look = look_at(path)
    return next((found for found in formats().values() if found.claims(look)), None)
