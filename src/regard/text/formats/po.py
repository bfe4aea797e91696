"""PO, the catalogues of gettext: `msgid` is the source, `msgstr` the translation; plural forms are pairs of their own.

Fuzzy, untranslated and obsolete entries are passed over and counted. A catalogue is read as a whole, not as a stream.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import polib

from regard.errors import CorpusError
from regard.text.bad_input import NotAPair, Problem
from regard.text.files import DamagedFile, WrongEncodingError, blocks, is_known_encoding, lines, replacing
from regard.text.formats import Reading
from regard.text.lines import cannot_hold, encoded
from regard.text.pairs import Languages, Pair, matches

SUFFIXES = (".po", ".pot")

_SYNTAX = re.compile(r'\s*(#.*|((msgctxt|msgid|msgid_plural|msgstr(\[\d\])?)\s*)?"([^"\\]|\\.)*"\s*)?')
_LINE = re.compile(r"\(line (\d+)\)")


_CHARSET = re.compile(rb"Content-Type:[^\n\\]*charset=([A-Za-z][\w.:-]*)", re.IGNORECASE)
_BEGINNING = 1 << 14


class _Content(str):
    """The text of a catalogue, whose lines end at LF only; to `str`, a U+2028 in a message is an end as well."""

    __slots__ = ()

    def splitlines(self, keepends: bool = False) -> list[str]:
        assert not keepends
        return self.split("\n")


class BrokenCatalogue(Exception):  # noqa: N818
    """A problem and its line; caught where the file is known."""

    def __init__(self, what: str, *, line: int | None) -> None:
        super().__init__(what)
        self.line = line


def read(paths: Sequence[Path], reading: Reading) -> Iterator[Pair]:
    """The pairs of a catalogue, where its language is the target; where it is the source, they are turned round."""
    (path,) = paths
    catalogue = _catalogue(path, reading)
    if catalogue is None:
        return
    straight = _is_straight(catalogue, path, reading)
    if straight is None:
        return
    translated = False
    for entry in catalogue:
        line, reason = entry.linenum or 1, _why_not(entry)
        if reason is not None:
            reading.bad.pass_over(reason, path, line)
            continue
        for original, translation in _texts(entry):
            translated = True
            texts = (original, translation) if straight else (translation, original)
            yield Pair(*texts, str(path), line)
    if not translated:
        reading.bad.file(Problem.NO_TRANSLATIONS, path, None, "there is no finished translation in this file.")


def write(path: Path, pairs: Iterable[Pair], languages: Languages) -> None:
    """An entry a pair; a source that comes again gets its number as context (`msgctxt`): PO allows no entry twice."""
    if path.suffix == ".pot":
        raise CorpusError(f"{path}: a template (POT) contains no translations.\n  Give the file the ending .po.")
    header = polib.POFile()
    header.metadata = {
        "MIME-Version": "1.0",
        "Content-Type": "text/plain; charset=UTF-8",
        "Content-Transfer-Encoding": "8bit",
        "Language": languages.target,
    }
    seen: set[str] = set()
    with replacing(path) as file:
        file.write(f"{header}\n".encode())
        for number, pair in enumerate(pairs, start=1):
            _check(pair, path, number)
            context = str(number) if pair.source in seen else None
            seen.add(pair.source)
            entry = polib.POEntry(msgid=pair.source, msgstr=pair.target, msgctxt=context)
            file.write(encoded(entry.__unicode__(wrapwidth=0) + "\n", path, number))


def declared_encoding(raw: bytes) -> str | None:
    """The encoding that the header of a catalogue declares; None where that is UTF-8 or left open."""
    found = _CHARSET.search(raw[:_BEGINNING])
    name = found[1].decode().lower() if found else "utf-8"
    return None if name in ("utf-8", "utf8", "charset") else name


def _declared_in(path: Path) -> str | None:
    try:
        return declared_encoding(next(blocks(path, size=_BEGINNING), b""))
    except DamagedFile:
        return None  # reported where the file is read


def parse(lines_: Sequence[str]) -> polib.POFile:
    """The catalogue in these lines."""
    wrong = next((number for number, line in enumerate(lines_, start=1) if not _SYNTAX.fullmatch(line)), None)
    if wrong:
        what = "this is not valid PO: expected a comment, or a keyword and quoted text."
        raise BrokenCatalogue(what, line=wrong)
    try:
        return polib.pofile(_Content("\n".join(lines_)), encoding="utf-8")
    except OSError as error:
        place = _LINE.search(str(error))
        what = "this is not valid PO: this line cannot follow the line before it."
        raise BrokenCatalogue(what, line=int(place[1]) if place else None) from None


def _catalogue(path: Path, reading: Reading) -> polib.POFile | None:
    encoding = reading.encoding or _declared_in(path)
    if encoding is not None and not is_known_encoding(encoding):
        reading.bad.file(Problem.PO, path, None, f"the encoding {encoding!r}, which its header declares, is unknown.")
        return None
    try:
        content = list(lines(path, reading.bad, encoding))
    except WrongEncodingError:
        if reading.encoding:
            raise
        reading.bad.file(Problem.PO, path, None, f"this file is not in {encoding}, which its header declares.")
        return None
    sound = [line for line in content if line is not None]
    if not sound or len(sound) < len(content):
        return None
    try:
        return parse(sound)
    except BrokenCatalogue as broken:
        reading.bad.file(Problem.PO, path, broken.line, str(broken))
        return None


def _is_straight(catalogue: polib.POFile, path: Path, reading: Reading) -> bool | None:
    """Whether `msgstr` is the target; a catalogue that does not say its language is taken to be in the target."""
    language = catalogue.metadata.get("Language")
    if not language or matches(reading.languages.target, language):
        return True
    if matches(reading.languages.source, language):
        return False
    what = f"this catalogue is in {language}, but Regard reads {reading.languages}."
    reading.bad.file(Problem.LANGUAGES, path, None, what)
    return None


def _why_not(entry: polib.POEntry) -> NotAPair | None:
    if entry.obsolete:
        return NotAPair.OBSOLETE
    if entry.fuzzy:
        return NotAPair.FUZZY
    if not any(_texts(entry)):
        return NotAPair.UNTRANSLATED
    return None


def _texts(entry: polib.POEntry) -> Iterator[tuple[str, str]]:
    """The singular with the first form, the plural with each of the others."""
    if entry.msgstr:
        yield entry.msgid, entry.msgstr
    for form, text in sorted(entry.msgstr_plural.items()):
        if text and entry.msgid_plural:
            yield (entry.msgid_plural if form else entry.msgid), text


def _check(pair: Pair, path: Path, number: int) -> None:
    if not pair.source or not pair.target:
        raise cannot_hold(path, number, "an empty text")
    if "\0" in pair.source or "\0" in pair.target:
        raise cannot_hold(path, number, "a NUL character")
