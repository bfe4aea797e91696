"""Documents that are zip archives of XML files: DOCX, ODT, EPUB.

The text of a package is that of the files in it that are translated, one after the other. Everything else is copied:
the same entries in the same order, each with its date, its attributes and its way of compression. What could exhaust
the machine is refused: too many entries, too much data, data that is packed too well, entries that share data.
"""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

from regard.errors import TextError
from regard.text.content import Content, decoded_xml, raw_bytes

MOST_ENTRIES = 10_000
MOST_BYTES = 1 << 30  # of all entries, unpacked
MOST_TEXT = 1 << 26  # of one file that is read
MOST_RATIO = 200  # unpacked to packed, of entries larger than a megabyte
_LARGE = 1 << 20
_BETWEEN = "\0"  # no XML holds it
_PLAIN = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_TRAVELLING = re.compile(r"^[/\\]|^[A-Za-z]:|(?:^|[/\\])\.\.(?:[/\\]|$)")
_ZIP64 = b"\x01\x00"


class Part(NamedTuple):
    """A file in a package that is translated, and where its text stands in that of the package."""

    name: str
    start: int
    end: int


class _Form(NamedTuple):
    """How a file in a package is encoded."""

    name: str
    encoding: str
    mark: bytes


@dataclass(frozen=True, kw_only=True)
class Package(Content):
    """The texts of some files in an archive, and the archive."""

    raw: bytes
    original: str
    forms: tuple[_Form, ...]

    def parts(self) -> Iterator[Part]:
        """The files that are translated, in order."""
        start = 0
        for form, text in zip(self.forms, self.text.split(_BETWEEN), strict=True):
            yield Part(form.name, start, start + len(text))
            start += len(text) + len(_BETWEEN)

    def encoded(self, text: str) -> bytes:
        """The bytes of the package with another text."""
        if text == self.original:
            return self.raw
        changed = {}
        for form, part in zip(self.forms, text.split(_BETWEEN), strict=True):
            changed[form.name] = form.mark + part.encode(form.encoding, errors="xmlcharrefreplace")
        return _rewritten(self.raw, changed)


def open_package(path: Path, chosen: Callable[[zipfile.ZipFile], Sequence[str]]) -> Package:
    """The package in a file; `chosen` names the files in it that are translated."""
    raw = raw_bytes(path)
    try:
        with zipfile.ZipFile(BytesIO(raw)) as archive:
            _check(path, archive)
            contents = [decoded_xml(Path(f"{path}/{name}"), _read(path, archive, name)) for name in chosen(archive)]
            names = chosen(archive)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, KeyError) as error:
        raise TextError(
            f"{path}: this is not a sound zip archive: {str(error).rstrip('.')}.\n"
            "  The file may be damaged. Save it again with the program that wrote it."
        ) from None
    text = _BETWEEN.join(content.text for content in contents)
    forms = tuple(_Form(name, found.encoding, found.mark) for name, found in zip(names, contents, strict=True))
    return Package(path=path, text=text, raw=raw, original=text, forms=forms, references=True)


def text_in(path: Path, archive: zipfile.ZipFile, name: str) -> str:
    """The text of a file in an archive that is being opened; empty where it is missing."""
    if name not in archive.namelist():
        return ""
    return decoded_xml(Path(f"{path}/{name}"), _read(path, archive, name)).text


def _check(path: Path, archive: zipfile.ZipFile) -> None:
    entries = archive.infolist()
    if len(entries) > MOST_ENTRIES:
        raise _refused(path, f"it has {len(entries):,} entries, and Regard reads at most {MOST_ENTRIES:,}")
    if sum(entry.file_size for entry in entries) > MOST_BYTES:
        raise _refused(path, f"unpacked, it would be larger than {MOST_BYTES >> 20:,} MiB")
    names = [entry.filename for entry in entries]
    twice = next((name for name in names if names.count(name) > 1), None) if len(set(names)) < len(names) else None
    if twice:
        raise _refused(path, f"it has the entry {twice!r} more than once")
    for entry in entries:
        if _TRAVELLING.search(entry.filename):
            raise _refused(path, f"the name {entry.filename!r} in it leads out of the archive")
        if entry.flag_bits & 0x1:
            raise _refused(path, f"{entry.filename!r} in it is encrypted; save the document without a password")
        if entry.compress_type not in _PLAIN:
            raise _refused(path, f"{entry.filename!r} in it is compressed in a way that this format does not allow")
        if entry.file_size > _LARGE and entry.file_size > MOST_RATIO * max(1, entry.compress_size):
            raise _refused(path, f"{entry.filename!r} in it unpacks to more than {MOST_RATIO} times its size")


def _read(path: Path, archive: zipfile.ZipFile, name: str) -> bytes:
    if archive.getinfo(name).file_size > MOST_TEXT:
        raise _refused(path, f"the text {name!r} in it is larger than {MOST_TEXT >> 20} MiB")
    return archive.read(name)


def _refused(path: Path, what: str) -> TextError:
    return TextError(f"{path}: Regard does not open this archive: {what}.\n  Check where the file comes from.")


def _rewritten(raw: bytes, changed: dict[str, bytes]) -> bytes:
    """An archive with other contents of some of its entries."""
    out = BytesIO()
    with zipfile.ZipFile(BytesIO(raw)) as old, zipfile.ZipFile(out, "w") as new:
        new.comment = old.comment
        for entry in old.infolist():
            data = changed[entry.filename] if entry.filename in changed else old.read(entry)
            entry.extra = _without_sizes(entry.extra)
            new.writestr(entry, data, compress_type=entry.compress_type)
    return out.getvalue()


def _without_sizes(extra: bytes) -> bytes:
    """The extra fields of an entry without that of large sizes, which is written again where it is needed."""
    kept, position = b"", 0
    while position + 4 <= len(extra):
        length = int.from_bytes(extra[position + 2 : position + 4], "little")
        if extra[position : position + 2] != _ZIP64:
            kept += extra[position : position + 4 + length]
        position += 4 + length
    return kept
