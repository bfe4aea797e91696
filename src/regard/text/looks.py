"""What a file looks like from its first bytes, and which kinds of files are not lines of text."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path
from typing import NamedTuple

from regard.text.files import DamagedFile, bare_name, blocks

_HEAD = 4096
_ROOT = re.compile(r"<(?![?!])(?:[\w.-]+:)?([A-Za-z][\w.-]*)")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_BINARY = {
    b"%PDF": "a PDF file",
    b"{\\rtf": "an RTF document",
    b"\xd0\xcf\x11\xe0": "an old Microsoft Office document",
    b"PK\x03\x04": "a zip archive",
    b"\x89PNG": "an image",
    b"\xff\xd8\xff": "an image",
    b"GIF8": "an image",
    b"\x7fELF": "a program",
}
_KINDS = {
    "a PDF file": "pdf",
    "an RTF document": "rtf",
    "a word processor document": "doc docm dot pages wpd abw odm",
    "a spreadsheet": "xls xlsx xlsm ods numbers",
    "a table": "csv tsv tab",
    "a presentation": "ppt pptx pptm odp key",
    "a drawing or image": "svg odg vsdx png jpg jpeg gif webp tif tiff bmp ico",
    "a LaTeX or typesetting source": "tex latex bib typ sty cls idml mif indd",
    "markup that Regard does not know": "rst adoc asciidoc textile org wiki mediawiki dita ditamap docbook sgml xml xsl",
    "a message catalogue that Regard does not know": "strings stringsdict xcstrings plist mo qm lang ftl rc gmo",
    "a configuration file": "json ini toml cfg conf env lock",
    "a data file": "jsonl ndjson sqlite db parquet avro proto bin pickle npy npz",
    "source code": "py js mjs cjs jsx tsx ts vue svelte java kt swift c h cc cpp hpp cs go rs rb php pl sh bash ps1 lua r "
    "scala css scss less sql ipynb",
    "subtitles that Regard does not know": "ass ssa sub sbv ttml dfxp stl",
    "an e-book that Regard does not know": "mobi azw azw3 fb2 djvu",
    "an archive": "zip tar tgz bz2 7z rar jar apk",
    "a recording": "mp3 mp4 mkv avi mov wav ogg flac webm m4a",
    "a mail": "eml msg mbox",
    "a style sheet or page template": "mdx mustache hbs ejs jinja j2 twig liquid pug haml erb jsp asp aspx",
}
_BY_SUFFIX = {f".{suffix}": kind for kind, suffixes in _KINDS.items() for suffix in suffixes.split()}


class Look(NamedTuple):
    """The first bytes of a file and, if it is a zip archive, the names in it."""

    head: bytes
    names: frozenset[str] = frozenset()

    @property
    def root(self) -> str:
        """The name of the first element, if the file looks like XML or HTML; else nothing."""
        text = self.head.decode("utf-16" if self.head[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8", errors="replace")
        text = text.lstrip("\ufeff \t\r\n")
        if not text.startswith("<"):
            return ""
        found = _ROOT.search(_COMMENT.sub("", text))
        return found[1] if found else ""

    @property
    def binary(self) -> str | None:
        """What a file is that holds no text, in words."""
        known = next((what for start, what in _BINARY.items() if self.head.startswith(start)), None)
        return known or ("a binary file" if self.root == "" and b"\0" in self.head else None)


def look_at(path: Path) -> Look:
    """The look of a file; an empty one where it cannot be read, which is reported where it is read."""
    try:
        head = next(iter(blocks(path, size=_HEAD)), b"")[:_HEAD]
    except (DamagedFile, OSError):
        return Look(b"")
    names = frozenset[str]()
    if head.startswith(b"PK\x03\x04"):
        try:
            with zipfile.ZipFile(path) as archive:
                names = frozenset(archive.namelist())
        except (zipfile.BadZipFile, OSError, NotImplementedError):
            pass
    return Look(head, names)


def structured(path: Path) -> str | None:
    """What kind of file this is, in words, by its name or its first bytes; None where it may be lines of text."""
    by_name = _BY_SUFFIX.get(Path(bare_name(path).lower()).suffix)
    if by_name:
        return by_name
    look = look_at(path)
    if look.binary:
        return look.binary
    return f"markup: its first element is <{look.root}>" if look.root else None
