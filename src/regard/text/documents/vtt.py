"""WebVTT subtitles: the text of a cue is a segment; settings, notes, styles and tags such as `<v Anna>` stay."""

from __future__ import annotations

import re

from regard.text import subtitles
from regard.text.content import Content
from regard.text.documents import Asked, Document
from regard.text.xml_places import escaped, unescaped

SUFFIXES = (".vtt",)
BILINGUAL = False

_TIMES = re.compile(r"\s*(?:\d+:)?\d\d:\d\d\.\d+\s+-->\s+(?:\d+:)?\d\d:\d\d\.\d+")
_CODES = re.compile(r"<[^<>]*>|&(?!amp;|lt;|gt;)\w+;")


def read(content: Content, asked: Asked) -> Document:  # noqa: ARG001
    """The document."""
    if not content.text.startswith("WEBVTT"):
        what = "this is not WebVTT: it does not start with WEBVTT."
        raise content.wrong(1, what, "Give the format of this file with --format.")
    return subtitles.read(content, times=_TIMES, codes=_CODES, unescaped=unescaped, escaped=escaped)
