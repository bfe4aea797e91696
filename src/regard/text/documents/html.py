"""HTML: running text and the attributes that people read (`alt`, `title`, `placeholder`, `aria-label`, descriptions).

Scripts, styles, `code`, `pre` and elements with `translate="no"` stay; the language that `<html lang>` states changes.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from regard.text.content import Content, decoded, decoded_xml, raw_bytes, read_text
from regard.text.documents import Asked, Document
from regard.text.hypertext import Page
from regard.text.looks import Look

SUFFIXES = (".html", ".htm", ".xhtml")
BILINGUAL = False

_CHARSET = re.compile(rb"<meta[^>]+charset\s*=\s*[\"']?\s*([A-Za-z][\w.:-]*)", re.IGNORECASE)
_BEGINNING = 4096


def load(path: Path, encoding: str | None = None) -> Content:
    """The text in the encoding that is given, or else in the one that the page declares."""
    if encoding:
        return replace(read_text(path, encoding), references=True)
    raw = raw_bytes(path)
    declared = _CHARSET.search(raw[:_BEGINNING])
    if raw.startswith((b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"<?xml")) or not declared:
        return decoded_xml(path, raw)
    return replace(decoded(path, raw, b"", _python_name(declared[1].decode().lower())), references=True)


def read(content: Content, asked: Asked) -> Document:
    """The document."""
    page = Page(content, 0, len(content.text), xml=content.text.lstrip("\ufeff \r\n").startswith("<?xml"))
    page.read(asked.languages)
    return Document(text=content.text, places=tuple(page.places), besides=tuple(page.besides))


def claims(look: Look) -> bool:
    """By its first element."""
    return look.root.lower() == "html"


def _python_name(charset: str) -> str:
    """Browsers take these for Windows-1252, which has the same characters and more."""
    return "windows-1252" if charset in ("iso-8859-1", "latin1", "us-ascii", "ascii") else charset
