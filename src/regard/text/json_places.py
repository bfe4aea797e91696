"""JSON as text whose strings know where they stand, so that one of them can be changed and all else keep its bytes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import NamedTuple

from regard.text.catalogues import is_language
from regard.text.content import Content
from regard.text.documents import Edit, Place, Segment
from regard.text.inline import LostMarkup
from regard.text.tagged import tagged

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}:,]|[^\s\[\]{}:,"]+')
_CODES = re.compile(r"</?[A-Za-z][^<>]*>|</?\d+/?>|\$t\([^()]*\)")


class Value(NamedTuple):
    """A string, and the keys and numbers that lead to it; of a key, those up to it."""

    path: tuple[str, ...]
    start: int
    end: int
    text: str
    is_key: bool = False


def strings(content: Content) -> list[Value]:
    """All strings of a document, which must be an object, in order."""
    try:
        root = json.loads(content.text)
    except json.JSONDecodeError as error:
        what = f"this is not valid JSON: {error.msg}, at character {error.colno} of this line."
        raise content.wrong(error.lineno, what, "Correct the file, or give its format with --format.") from None
    except RecursionError:
        raise content.wrong(None, "this JSON is nested too deeply.", "Check whether it is a catalogue.") from None
    if not isinstance(root, dict):
        what = "this JSON is not an object, so it is not a catalogue of messages."
        raise content.wrong(1, what, "Give a file of keys and texts.")
    return list(_strings(content.text))


def _strings(text: str) -> Iterator[Value]:
    path: list[str] = []  # the key or number of each open object or array
    objects: list[bool] = []
    expects_key = False
    for found in _TOKEN.finditer(text):
        token = found[0]
        if token in "{[":
            objects.append(token == "{")
            path.append("" if token == "{" else "0")
            expects_key = token == "{"
        elif token in "}]":
            objects.pop()
            path.pop()
            expects_key = False
        elif token == ",":
            expects_key = objects[-1]
            path[-1] = "" if objects[-1] else str(int(path[-1]) + 1)
        elif token.startswith('"'):
            string = json.loads(token)
            if expects_key:
                path[-1] = string
            yield Value(tuple(path), *found.span(), text=string, is_key=expects_key)
            expects_key = False


def message(content: Content, value: Value, *, checked: bool) -> Place | None:
    """The place of a string; None where there is no text in it. Where `checked`, its translation must be language."""
    shown = tagged(value.text, _CODES)
    if not shown.text or _has_half_a_pair(value.text):
        return None
    ascii_only = content.text.isascii() and "\\u" in content.text

    def put(translation: str) -> list[Edit]:
        text = shown.restored(translation)
        if checked and not is_language(text):
            raise LostMarkup
        return [Edit(value.start, value.end, json.dumps(text, ensure_ascii=ascii_only))]

    return Place(Segment(source=shown.text, line=content.line(value.start)), put)


def _has_half_a_pair(text: str) -> bool:
    return any("\ud800" <= character <= "\udfff" for character in text)
