r"""Java .properties: each value that is language is a segment; keys, comments and layout stay.

The file is UTF-8 if it is valid UTF-8, else ISO-8859-1; where it is plain ASCII, other characters are written as
\u00e4, which every Java reads. Values with {0} are patterns of MessageFormat: there, '' stands for an apostrophe.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from regard.text.accelerators import joined, split
from regard.text.catalogues import is_language
from regard.text.content import Content, decoded, raw_bytes, read_text
from regard.text.documents import Asked, Document, Edit, Place, Segment
from regard.text.inline import LostMarkup
from regard.text.tagged import tagged

SUFFIXES = (".properties",)
BILINGUAL = False

_LINE = re.compile(r"[ \t\f]*((?:[^\\\r\n]|\\(?:\r\n|[\s\S]))*)(?:\r\n|\r|\n|\Z)")
_KEY = re.compile(r"(?:[^\\:=\s]|\\(?:\r\n[ \t\f]*|[\r\n][ \t\f]*|.))+")
_SEPARATOR = re.compile(r"[ \t\f]*(?:[:=](?:[ \t\f]|\\\r?\n)*|(?<=[ \t\f]))")
_CONTINUED = re.compile(r"\\(?:\r\n|\r|\n)[ \t\f]*")
_ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{4}|.)", re.DOTALL)
_NAMED = {"n": "\n", "t": "\t", "r": "\r", "f": "\f"}
_PATTERN = re.compile(r"\{\d")
_WIDTH = 80


class _Value(NamedTuple):
    start: int
    end: int
    raw: str


def load(path: Path, encoding: str | None = None) -> Content:
    """The text in the encoding given, or in the one that fits."""
    if encoding:
        return read_text(path, encoding)
    raw = raw_bytes(path)
    try:
        raw.decode()
    except UnicodeDecodeError:
        return decoded(path, raw, b"", "iso-8859-1")
    return decoded(path, raw, b"\xef\xbb\xbf" if raw.startswith(b"\xef\xbb\xbf") else b"", "utf-8")


def read(content: Content, asked: Asked) -> Document:  # noqa: ARG001
    """The document."""
    places = (_place(content, value) for value in _values(content.text))
    return Document(text=content.text, places=tuple(place for place in places if place))


def _values(text: str) -> list[_Value]:
    values = []
    for line in _LINE.finditer(text):
        if not line[1] or line[1][0] in "#!":
            continue
        key = _KEY.match(text, line.start(1), line.end(1))
        separator = _SEPARATOR.match(text, key.end() if key else line.start(1), line.end(1))
        start = separator.end() if separator else line.end(1)
        values.append(_Value(start, line.end(1), text[start : line.end(1)]))
    return values


def _place(content: Content, value: _Value) -> Place | None:
    text = _unescaped(value.raw)
    pattern = bool(_PATTERN.search(text))
    text, accelerator = split(text.replace("''", "'") if pattern else text, "&")
    shown = tagged(text)
    if not shown.text or not is_language(text):
        return None
    breaks = _CONTINUED.findall(value.raw)

    def put(translation: str) -> list[Edit]:
        said = joined(shown.restored(translation), accelerator)
        if not is_language(said) or (not pattern and _PATTERN.search(said)):
            raise LostMarkup
        written = _escaped(said.replace("'", "''") if pattern else said, content)
        return [Edit(value.start, value.end, _filled(written, breaks[0]) if breaks else written)]

    return Place(Segment(source=shown.text, line=content.line(value.start)), put)


def _unescaped(raw: str) -> str:
    joined_lines = _CONTINUED.sub("", raw)
    text = _ESCAPE.sub(
        lambda found: chr(int(found[1][1:], 16)) if len(found[1]) == 5 else _NAMED.get(found[1], found[1]), joined_lines
    )
    return text.encode("utf-16", errors="surrogatepass").decode("utf-16", errors="replace")


def _escaped(text: str, content: Content) -> str:
    """As Java reads it; a space at the start would be taken for layout."""
    written = text.replace("\\", "\\\\")
    for name, character in _NAMED.items():
        written = written.replace(character, f"\\{name}")
    written = f"\\{written}" if written.startswith(" ") else written
    plain = content.text.isascii()
    return "".join(
        character if character.isascii() or (not plain and content.holds(character)) else _code(character)
        for character in written
    )


def _code(character: str) -> str:
    raw = character.encode("utf-16-be")
    return "".join(f"\\u{raw[at : at + 2].hex()}" for at in range(0, len(raw), 2))


def _filled(text: str, between: str) -> str:
    """A long value in lines, each of which ends with a backslash but the last."""
    lines = [""]
    for number, word in enumerate(text.split(" ")):
        if number and len(lines[-1]) + 1 + len(word) > _WIDTH and word:
            lines[-1] += " "
            lines.append(word)
        else:
            lines[-1] += f" {word}" if number else word
    return between.join(lines)
