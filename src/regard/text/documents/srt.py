r"""SRT subtitles: the text of a cue is a segment; numbers and times stay, and so do tags such as `<i>` and `{\an8}`."""

from __future__ import annotations

import re

from regard.text import subtitles
from regard.text.content import Content
from regard.text.documents import Asked, Document

SUFFIXES = (".srt",)
BILINGUAL = False

_TIMES = re.compile(r"\s*\d+:\d\d:\d\d[,.]\d+\s*-->\s*\d+:\d\d:\d\d[,.]\d+")
_CODES = re.compile(r"</?[A-Za-z][^<>]*>|\{\\[^{}]*\}")


def read(content: Content, asked: Asked) -> Document:  # noqa: ARG001
    """The document."""
    document = subtitles.read(content, times=_TIMES, codes=_CODES)
    if not document.places and "-->" not in content.text:
        what = "this is not SRT: it has no line with times, such as 00:00:01,000 --> 00:00:02,500."
        raise content.wrong(None, what, "Give the format of this file with --format.")
    return document
