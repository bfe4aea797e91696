"""PO, the catalogues of gettext: each `msgstr` that stands for a text is a segment, plural forms included.

A machine's translation is marked `fuzzy` unless told otherwise: gettext then does not use it before a person has looked
at it. Comments, contexts, other flags, obsolete entries and the header stay; an empty `Language` in it is filled in.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import polib

from regard.text.bad_input import Problem
from regard.text.content import Content
from regard.text.documents import Asked, Document, Edit, Place, Segment, SegmentState
from regard.text.formats.po import BrokenCatalogue, parse
from regard.text.inline import Inline, Shown
from regard.text.pairs import serves

SUFFIXES = (".po", ".pot")
BILINGUAL = True

_LINE = re.compile(r"([^\n]*?)(?:\r?\n|$)")
_FIELD = re.compile(r'\s*(?:(msgctxt|msgid_plural|msgid|msgstr)(?:\[(\d)\])?\s*)?"((?:[^"\\]|\\.)*)"\s*')
_FLAG = re.compile(r",\s*fuzzy(?![\w-])")
_TAG = re.compile(r"(</?[A-Za-z][^<>]*>)")
_LANGUAGE = re.compile(r"^Language:[ \t]*([^\n]*)$", re.MULTILINE)
_FORMS = re.compile(r"nplurals\s*=\s*(\d)")
_WIDTH = 78

Put = Callable[[str], list[Edit]]


@dataclass(slots=True)
class _Field:
    start: int
    end: int
    text: str


@dataclass(slots=True)
class _Entry:
    """An entry by where it stands; a keyword with its number, `msgstr[1]`, leads to its text."""

    start: int = -1  # of its first line after the comments, where flags can stand
    flags: tuple[int, int] | None = None  # its line of flags
    fuzzy: bool = False
    fields: dict[str, _Field] = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        return any(name.startswith("msgstr") for name in self.fields)

    def text(self, name: str) -> str:
        return self.fields[name].text if name in self.fields else ""

    def take_comment(self, line: str, span: tuple[int, int]) -> None:
        if line.startswith("#,"):
            self.flags, self.fuzzy = span, bool(_FLAG.search(line))
        if line.startswith("#|") and self.start < 0:
            self.start = span[0]

    def take_text(self, matched: re.Match[str], span: tuple[int, int]) -> None:
        self.start = span[0] if self.start < 0 else self.start
        keyword, number, raw = matched.groups()
        if keyword:
            name = keyword if number is None else f"{keyword}[{number}]"
            self.fields[name] = _Field(span[0] + matched.start(1), span[1], polib.unescape(raw))
        elif self.fields:
            last = next(reversed(self.fields.values()))
            last.end, last.text = span[1], last.text + polib.unescape(raw)


def read(content: Content, asked: Asked) -> Document:
    """The document, as polib reads it as well."""
    entries = list(_entries(content.text))
    _check(content, entries)
    header = next((entry for entry in entries if not entry.text("msgid") and "msgctxt" not in entry.fields), None)
    stated = _LANGUAGE.search(header.text("msgstr")) if header else None
    language = stated[1].strip() if stated else ""
    if asked.languages and language and not serves(asked.languages.target, language):
        what = f"this catalogue is in {language!r}, but the model translates from {asked.languages}."
        raise content.wrong(None, what, "Use a model of these languages, or correct the header's Language.")
    wrapped = all(len(line) <= _WIDTH + 4 for line in content.text.split("\n") if '"' in line and line[:1] != "#")
    writer = _Writer(content.line_end, _WIDTH if wrapped else 0)
    forms = _FORMS.search(header.text("msgstr")) if header else None
    single = bool(forms and forms[1] == "1")
    places = [
        place for entry in entries if entry is not header for place in _places(content, entry, writer, asked, single)
    ]
    besides = []
    if header and asked.languages and stated and not language:
        text = _LANGUAGE.sub(f"Language: {asked.languages.target}", header.text("msgstr"), count=1)
        besides.append(writer.edit("msgstr", header.fields["msgstr"], text))
    return Document(text=content.text, places=tuple(places), besides=tuple(besides))


@dataclass(frozen=True)
class _Writer:
    """Puts texts into the form of the catalogue: its line ends, and whether its lines are wrapped."""

    line_end: str
    width: int

    def edit(self, name: str, place: _Field, text: str) -> Edit:
        written = polib.POEntry(msgid="", msgstr=text).__unicode__(wrapwidth=self.width)
        lines = written[written.index("msgstr ") + len("msgstr") :].rstrip("\n").split("\n")
        return Edit(place.start, place.end, name + self.line_end.join(lines))


def _entries(text: str) -> Iterator[_Entry]:
    """The entries that are not obsolete, the header among them."""
    entry = _Entry()
    for found in _LINE.finditer(text):
        line = found[1]
        if not line.strip() or line.startswith("#~"):
            continue
        matched = _FIELD.fullmatch(line)
        if entry.complete and (line.startswith("#") or (matched and matched[1] in ("msgctxt", "msgid"))):
            yield entry
            entry = _Entry()
        if line.startswith("#"):
            entry.take_comment(line, found.span(1))
        elif matched:
            entry.take_text(matched, found.span(1))
    if entry.complete:
        yield entry


def _check(content: Content, entries: list[_Entry]) -> None:
    """Whether polib finds the same texts: what it does not understand is not to be edited."""
    if not content.text.strip():
        raise content.wrong(None, "this file is empty.", "Give a PO catalogue that has entries.")
    try:
        catalogue = parse([line.removesuffix("\r") for line in content.text.removesuffix("\n").split("\n")])
    except BrokenCatalogue as broken:
        raise content.wrong(broken.line, str(broken), Problem.PO.hint) from None
    expected = [(entry.msgid, entry.msgstr, entry.msgid_plural) for entry in catalogue if not entry.obsolete]
    found = [(entry.text("msgid"), entry.text("msgstr"), entry.text("msgid_plural")) for entry in entries]
    if expected != found[len(found) - len(expected) :] or len(found) - len(expected) > 1:
        raise content.wrong(None, "this is not valid PO: its entries cannot be separated.", Problem.PO.hint)


def _places(content: Content, entry: _Entry, writer: _Writer, asked: Asked, single: bool) -> Iterator[Place]:
    for name, place in entry.fields.items():
        if not name.startswith("msgstr"):
            continue
        plural = "msgid_plural" in entry.fields and (single or name not in ("msgstr", "msgstr[0]"))
        shown = _shown(entry.text("msgid_plural" if plural else "msgid"))
        if shown.text:
            state = SegmentState.UNFINISHED if entry.fuzzy else SegmentState.TRANSLATED
            segment = Segment(
                source=shown.text,
                target=_shown(place.text).text,
                state=state if place.text else SegmentState.UNTRANSLATED,
                line=content.line(place.start),
            )
            yield Place(segment, _putting(content, entry, name, shown, writer, asked))


def _putting(content: Content, entry: _Entry, name: str, shown: Shown, writer: _Writer, asked: Asked) -> Put:
    def put(translation: str) -> list[Edit]:
        return [
            *_flagged(content, entry, writer, marked=asked.marked),
            writer.edit(name, entry.fields[name], shown.restored(translation)),
        ]

    return put


def _flagged(content: Content, entry: _Entry, writer: _Writer, *, marked: bool) -> list[Edit]:
    """The edit of an entry's flags."""
    if entry.fuzzy == marked:
        return []
    if entry.flags is None:
        return [Edit(entry.start, entry.start, f"#, fuzzy{writer.line_end}")]
    start, end = entry.flags
    line = content.text[start:end]
    if marked:
        return [Edit(start, end, line.replace("#,", "#, fuzzy,", 1))]
    rest = _FLAG.sub("", line, count=1)
    if rest.strip() == "#":
        return [Edit(start, end + len(writer.line_end), "")]
    return [Edit(start, end, rest)]


def _shown(text: str) -> Shown:
    built = Inline()
    for piece in _TAG.split(text):
        if _TAG.fullmatch(piece):
            built.alone(piece)
        else:
            built.text(piece)
    return built.shown()
