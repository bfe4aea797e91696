"""The whole text of a file with all that is needed to write it back byte for byte: encoding, mark, line ends."""

from __future__ import annotations

import codecs
import re
import sys
from bisect import bisect_right
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from regard.errors import TextError
from regard.text.files import DamagedFile, blocks

_MARKS = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_DECLARED = re.compile(rb"""<\?xml[^>]*?\bencoding\s*=\s*["']([A-Za-z][\w.-]*)["']""")
_END = re.compile(r"\r\n|\n|\r")


@dataclass(frozen=True, kw_only=True)
class Content:
    """The text of a file, its line ends as they are."""

    path: Path
    text: str
    encoding: str = "utf-8"
    mark: bytes = b""  # the byte order mark before the text
    references: bool = False  # whether a character that the encoding lacks can be written as &#8364;
    first_line: int = 1  # the number of its first line, where it is a part of a file

    @property
    def line_end(self) -> str:
        """The line end that the file uses first."""
        found = _END.search(self.text)
        return found[0] if found else "\n"

    def line(self, position: int) -> int:
        """The number of the line, from 1, in which a character stands."""
        return bisect_right(self._line_starts, position) + self.first_line - 1

    @cached_property
    def _line_starts(self) -> list[int]:
        return [0, *(found.end() for found in re.finditer("\n", self.text))]

    def encoded(self, text: str) -> bytes:
        """The bytes of another text in the encoding of this file; markup can write any character as a reference."""
        try:
            errors = "xmlcharrefreplace" if self.references and not self.encoding.startswith("utf") else "strict"
            return self.mark + text.encode(self.encoding, errors=errors)
        except UnicodeEncodeError as error:
            code = f"U+{ord(text[error.start]):04X}"
            lacks = "is not a character" if self.encoding.startswith("utf") else f"{self.encoding.upper()} lacks"
            raise TextError(
                f"{self.path}: the translation contains the code point {code}, which {lacks}.\n"
                "  Nothing has been written."
            ) from None

    def holds(self, text: str) -> bool:
        """Whether this file can hold all characters of a text."""
        try:
            text.encode("utf-8" if self.references else self.encoding)
        except UnicodeEncodeError:
            return False
        return True

    def wrong(self, line: int | None, what: str, hint: str) -> TextError:
        """The error for a file that is not in order."""
        place = f"{self.path}:{line}" if line else str(self.path)
        return TextError(f"{place}: {what}\n  {hint}")


def read_text(path: Path, encoding: str | None = None) -> Content:
    """The content of a text file, which is UTF-8 unless another encoding is given."""
    return decoded_text(path, raw_bytes(path), encoding)


def decoded_text(path: Path, raw: bytes, encoding: str | None = None) -> Content:
    """The content of a text file that has these bytes."""
    mark, encoding = mark_and_encoding(path, raw, encoding)
    return decoded(path, raw, mark, encoding)


def mark_and_encoding(path: Path, raw: bytes, encoding: str | None = None) -> tuple[bytes, str]:
    """The byte order mark with which a text file begins, which may be empty, and the encoding of the file."""
    if encoding:
        return _mark(raw, encoding), encoding
    if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise TextError(
            f"{path}: this file is UTF-16.\n  Regard reads UTF-8. Convert the file with: iconv -f UTF-16 -t UTF-8"
        )
    return codecs.BOM_UTF8 if raw.startswith(codecs.BOM_UTF8) else b"", "utf-8"


def read_xml(path: Path, encoding: str | None = None) -> Content:
    """The content of an XML file in the encoding that it declares; if it declares none, in the one given or UTF-8."""
    return decoded_xml(path, raw_bytes(path), encoding)


def decoded_xml(path: Path, raw: bytes, encoding: str | None = None) -> Content:
    """The content of an XML file that has these bytes."""
    for mark, marked in _MARKS.items():
        if raw.startswith(mark):
            return replace(decoded(path, raw, mark, marked), references=True)
    declared = _DECLARED.match(raw)
    name = declared[1].decode().lower() if declared else encoding or "utf-8"
    return replace(decoded(path, raw, b"", name), references=True)


def _mark(raw: bytes, encoding: str) -> bytes:
    """The byte order mark at the start, if it is one of this encoding."""
    name = encoding.lower().replace("_", "-")
    return next((mark for mark, marked in _MARKS.items() if raw.startswith(mark) and name == marked), b"")


def raw_bytes(path: Path) -> bytes:
    """The bytes of a file, decompressed; `-` is standard input."""
    if str(path) == "-":
        return sys.stdin.buffer.read()
    if path.is_dir():
        raise TextError(f"{path}: this is a folder.\n  Give the files in it.")
    try:
        return b"".join(blocks(path))
    except DamagedFile as damage:
        raise TextError(f"{path}: {damage}\n  Download or create the file again.") from None


def decoded(path: Path, raw: bytes, mark: bytes, encoding: str) -> Content:
    """The content of a file that has these bytes, a mark among them."""
    try:
        text = raw[len(mark) :].decode(encoding)
        sound = text.encode(encoding) == raw[len(mark) :]
    except LookupError:
        raise TextError(f"{path}: the encoding {encoding!r} is unknown.\n  Convert the file to UTF-8.") from None
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise TextError(
            f"{path}:{line}: byte {error.start + 1} of this file, {raw[error.start]:#04x}, is not {encoding.upper()}.\n"
            "  Convert the file to UTF-8, for example with: iconv -f LATIN1 -t UTF-8"
        ) from None
    if "\0" in text or not sound:
        raise TextError(
            f"{path}: this is not {encoding.upper()} text.\n"
            "  The file may be damaged, may not be text, or may have another encoding. Convert it to UTF-8."
        )
    return Content(path=path, text=text, encoding=encoding, mark=mark)
