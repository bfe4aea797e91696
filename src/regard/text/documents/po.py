"""PO, the catalogues of gettext: each `msgstr` that stands for a text is a segment, plural forms included.

A machine's translation is marked `fuzzy` unless told otherwise: gettext then does not use it before a person has looked
at it. Comments, contexts, other flags, obsolete entries and the header stay; an empty `Language` in it is filled in.
A template (POT) becomes a catalogue: its header gets the encoding, the language, its plural forms and the date, and its
entries as many forms. Accelerators (`_Open`, `Op&en`) move to a letter of the translation.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import polib

from regard.text.accelerators import Accelerator, joined, split
from regard.text.bad_input import Problem
from regard.text.content import Content, decoded_text, raw_bytes
from regard.text.documents import (
    UNREMARKED,
    Asked,
    Document,
    Edit,
    Origin,
    Place,
    Remarks,
    Segment,
    SegmentState,
)
from regard.text.files import bare_name
from regard.text.formats.po import BrokenCatalogue, declared_encoding, parse
from regard.text.inline import Shown
from regard.text.pairs import serves
from regard.text.po_headers import filled, in_language, is_template, plural_count
from regard.text.tagged import tagged

SUFFIXES = (".po", ".pot")
BILINGUAL = True

_LINE = re.compile(r"([^\n]*?)(?:\r?\n|$)")
_FIELD = re.compile(r'\s*(?:(msgctxt|msgid_plural|msgid|msgstr)(?:\[(\d)\])?\s*)?"((?:[^"\\]|\\.)*)"\s*')
_FLAG = re.compile(r",\s*fuzzy(?![\w-])")
_SYNTAX = re.compile(r"(?<![\w-])(?:no-)?(?:c|python)-format(?![\w-])")
_LANGUAGE = re.compile(r"^Language:[ \t]*([^\n]*)$", re.MULTILINE)
_OWN = "# Regard: "  # what Regard records about a translation
_MARKS = "_&"
_WIDTH = 78

Put = Callable[[str, Remarks], list[Edit]]


@dataclass(slots=True)
class _Field:
    start: int
    end: int
    text: str
    new: bool = False  # it is to be written behind the field before it


@dataclass(slots=True)
class _Entry:
    """An entry by where it stands; a keyword with its number, `msgstr[1]`, leads to its text."""

    begin: int = -1
    start: int = -1  # of its first line after the comments, where flags can stand
    flags: tuple[int, int] | None = None  # its line of flags
    fuzzy: bool = False
    syntax: str = ""  # of placeholders, as its flags state it
    own: list[tuple[int, int]] = field(default_factory=list)  # comments that Regard wrote
    fields: dict[str, _Field] = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        return any(name.startswith("msgstr") for name in self.fields)

    def text(self, name: str) -> str:
        return self.fields[name].text if name in self.fields else ""

    def take_comment(self, line: str, span: tuple[int, int]) -> None:
        self.begin = span[0] if self.begin < 0 else self.begin
        if line.startswith(_OWN):
            self.own.append(span)
        if line.startswith("#,"):
            self.flags, self.fuzzy = span, bool(_FLAG.search(line))
            stated = _SYNTAX.search(line)
            self.syntax = stated.group() if stated else ""
        if line.startswith("#|") and self.start < 0:
            self.start = span[0]

    def fit(self, forms: int) -> list[Edit]:
        """Give a plural entry as many forms as the language has: new fields, and edits that remove others."""
        there = [name for name in self.fields if name.startswith("msgstr[")]
        if not there:
            return []
        end = self.fields[there[-1]].end
        for number in range(len(there), forms):
            self.fields[f"msgstr[{number}]"] = _Field(end, end, "", new=True)
        extra = [self.fields.pop(name) for name in there[forms:]]
        kept = self.fields[there[forms - 1]].end if extra else end
        return [Edit(kept, end, "")] if extra else []

    def take_text(self, matched: re.Match[str], span: tuple[int, int]) -> None:
        self.start = span[0] if self.start < 0 else self.start
        self.begin = self.start if self.begin < 0 else self.begin
        keyword, number, raw = matched.groups()
        if keyword:
            name = keyword if number is None else f"{keyword}[{number}]"
            self.fields[name] = _Field(span[0] + matched.start(1), span[1], polib.unescape(raw))
        elif self.fields:
            last = next(reversed(self.fields.values()))
            last.end, last.text = span[1], last.text + polib.unescape(raw)


def load(path: Path, encoding: str | None = None) -> Content:
    """The text in the encoding that the header declares, or in the one given."""
    raw = raw_bytes(path)
    return decoded_text(path, raw, encoding or declared_encoding(raw))


def read(content: Content, asked: Asked) -> Document:
    """The document, as polib reads it as well."""
    entries = list(_entries(content.text))
    _check(content, entries)
    header = next((entry for entry in entries if not entry.text("msgid") and "msgctxt" not in entry.fields), None)
    stated = _LANGUAGE.search(header.text("msgstr")) if header else None
    language = stated[1].strip() if stated else ""
    of_source = bool(asked.languages and serves(asked.languages.source, language)) and _is_bare(entries, header)
    if asked.languages and language and not serves(asked.languages.target, language) and not of_source:
        what = f"this catalogue is in {language!r}, but the model translates from {asked.languages}."
        raise content.wrong(None, what, "Use a model of these languages, or correct the header's Language.")
    wrapped = all(len(line) <= _WIDTH + 4 for line in content.text.split("\n") if '"' in line and line[:1] != "#")
    writer = _Writer(content.line_end, _WIDTH if wrapped else 0)
    besides, forms = list[Edit](), plural_count(header.text("msgstr")) if header else None
    if header and asked.languages and (of_source or _is_template(content, header)):
        new = in_language if of_source else filled
        text = new(header.text("msgstr"), asked.languages.target)
        besides = [writer.edit("msgstr", header.fields["msgstr"], text)]
        besides += _flagged(content, header, writer, marked=False)
        forms = plural_count(text)
        for entry in entries:
            besides += entry.fit(forms or 2)
    elif header and asked.languages and stated and not language:
        text = _LANGUAGE.sub(f"Language: {asked.languages.target}", header.text("msgstr"), count=1)
        besides.append(writer.edit("msgstr", header.fields["msgstr"], text))
    places = [
        place
        for entry in entries
        if entry is not header
        for place in _places(content, entry, writer, asked, forms == 1)
    ]
    return Document(text=content.text, places=tuple(places), besides=tuple(besides))


def _is_bare(entries: list[_Entry], header: _Entry | None) -> bool:
    """Whether a catalogue has no translation: projects have such a one in the language of the source."""
    fields = [found for entry in entries if entry is not header for found in entry.fields.items()]
    return not any(field.text for name, field in fields if name.startswith("msgstr"))


def _is_template(content: Content, header: _Entry) -> bool:
    return bare_name(content.path).endswith(".pot") or is_template(header.text("msgstr"))


@dataclass(frozen=True)
class _Writer:
    """Puts texts into the form of the catalogue: its line ends, and whether its lines are wrapped."""

    line_end: str
    width: int

    def edit(self, name: str, place: _Field, text: str) -> Edit:
        """The field with another text."""
        written = polib.POEntry(msgid="", msgstr=text).__unicode__(wrapwidth=self.width)
        lines = written[written.index("msgstr ") + len("msgstr") :].rstrip("\n").split("\n")
        before = self.line_end if place.new else ""
        return Edit(place.start, place.end, before + name + self.line_end.join(lines))


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
        shown, accelerator = _shown(entry.text("msgid_plural" if plural else "msgid"))
        if shown.text:
            state = SegmentState.UNFINISHED if entry.fuzzy else SegmentState.TRANSLATED
            segment = Segment(
                source=shown.text,
                target=_shown(place.text)[0].text,
                state=state if place.text else SegmentState.UNTRANSLATED,
                line=content.line(place.start),
                syntax=entry.syntax,
            )
            recording = _recording(content, entry, name, shown, accelerator, writer, asked)
            yield Place(segment, lambda text, recording=recording: recording(text, UNREMARKED), recording)  # type: ignore[misc]


def _recording(
    content: Content,
    entry: _Entry,
    name: str,
    shown: Shown,
    accelerator: Accelerator | None,
    writer: _Writer,
    asked: Asked,
) -> Put:
    def record(translation: str, remarks: Remarks) -> list[Edit]:
        marked = asked.marked and remarks.origin is Origin.MACHINE
        return [
            *_remarked(entry, writer, remarks),
            *_flagged(content, entry, writer, marked=marked),
            writer.edit(name, entry.fields[name], joined(shown.restored(translation), accelerator)),
        ]

    return record


def _remarked(entry: _Entry, writer: _Writer, remarks: Remarks) -> list[Edit]:
    """The edits of the comments that Regard writes, which take the place of those that it wrote before."""
    lines = ["from the translation memory"] if remarks.origin is Origin.MEMORY else []
    lines += [" ".join(note.split()) for note in remarks.notes]
    text = "".join(f"{_OWN}{line}{writer.line_end}" for line in lines)
    edits = [Edit(entry.begin, entry.begin, text)] if text else []
    return [*edits, *(Edit(start, end + len(writer.line_end), "") for start, end in entry.own)]


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


def _shown(text: str) -> tuple[Shown, Accelerator | None]:
    bare, accelerator = split(text, _MARKS)
    return tagged(bare), accelerator
