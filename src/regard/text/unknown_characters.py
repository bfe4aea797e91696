"""Characters that a translator does not know, and what belongs to them: a word, a number with its unit, a symbol.

`Łódź` is one name though only two of its letters are unknown; `20 m²` and `£40` are numbers with units; `❤️` is a symbol
of two characters; words of an unknown script that follow each other are one string.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple
from unicodedata import category, normalize

from regard.text.placeholders import Placeholder

_NUMBER_BEFORE = re.compile(r"(?:\d[\d.,]*[ \u00a0\u202f]?)?[^\W\d_]{0,3}$")
_AMOUNT_BEFORE = re.compile(r"\d[\d.,]*[ \u00a0\u202f]?$")
_AMOUNT_AFTER = re.compile(r"[ \u00a0\u202f]?\d+(?:[.,]\d+)*")
_BETWEEN = re.compile(r"[^\w<>{}%]*")
_INVISIBLE = re.compile("[\u00ad\u200b\u2060\ufeff]+")
_LIGATURES = re.compile("[\ufb00-\ufb06]")


class Kind(Enum):
    """What a string with unknown characters is."""

    WORD = "word"
    NUMBER = "number"
    SYMBOL = "symbol"


class Unknown(NamedTuple):
    """A string with unknown characters, and where it stands."""

    string: str
    start: int
    end: int
    kind: Kind


def visible(text: str) -> str:
    """The text as it is read: without characters that only say where a line may break, and ligatures as letters."""
    if text.isascii():
        return text
    return _LIGATURES.sub(lambda found: normalize("NFKC", found[0]), _INVISIBLE.sub("", text))


def unknown(text: str, known: frozenset[str] | None, apart: Sequence[Placeholder] = ()) -> list[Unknown]:
    """All strings with unknown characters, in order; none within placeholders."""
    if known is None or text.isascii():
        return []
    spans: list[Unknown] = []
    for place, character in enumerate(text):
        if character.isascii() or character in known or (spans and place < spans[-1].end):
            continue
        if any(one.start <= place < one.end for one in apart):
            continue
        found = _around(text, place)
        limits = [one for one in apart if one.start < found.end and found.start < one.end]
        spans.append(Unknown(character, place, place + 1, found.kind) if limits else found)
    return _joined(text, spans)


def _around(text: str, place: int) -> Unknown:
    """What belongs to the unknown character at this place."""
    kind = category(text[place])
    start, end = place, place + 1
    if kind[0] in "LM":
        start, end = _word(text, start, end)
        return Unknown(text[start:end], start, end, Kind.WORD)
    if kind[0] == "N":
        before = _NUMBER_BEFORE.search(text, 0, place)
        start = before.start() if before else place
        _, end = _word(text, place, end)
        letters = any(map(str.isalpha, text[start:end])) and not _has_digit(text[start:end])
        return Unknown(text[start:end], start, end, Kind.WORD if letters else Kind.NUMBER)
    if kind in ("Sc", "Sm"):
        after, before = _AMOUNT_AFTER.match(text, end), _AMOUNT_BEFORE.search(text, 0, place)
        if after or before:
            start = before.start() if before and not after else start
            end = after.end() if after else end
            return Unknown(text[start:end], start, end, Kind.NUMBER)
    while end < len(text) and (category(text[end]) in ("Mn", "Me", "Cf", "Sk", "So", "Co") and not text[end].isascii()):
        end += 1
    return Unknown(text[start:end], start, end, Kind.SYMBOL)


def _word(text: str, start: int, end: int) -> tuple[int, int]:
    while start > 0 and _of_word(text[start - 1]):
        start -= 1
    while end < len(text) and _of_word(text[end]):
        end += 1
    return start, end


def _of_word(character: str) -> bool:
    return character.isalnum() or category(character)[0] == "M" or character == "\u200d"


def _has_digit(string: str) -> bool:
    return any(character.isdecimal() for character in string)


def _joined(text: str, spans: Sequence[Unknown]) -> list[Unknown]:
    """Neighbours as one: words with no known word between them, and whatever touches."""
    joined: list[Unknown] = []
    for span in spans:
        last = joined[-1] if joined else None
        if last and (
            last.end >= span.start
            or (last.kind is span.kind is Kind.WORD and _BETWEEN.fullmatch(text, last.end, span.start))
        ):
            kind = last.kind if last.kind is span.kind else Kind.WORD
            end = max(last.end, span.end)
            joined[-1] = Unknown(text[last.start : end], last.start, end, kind)
        else:
            joined.append(span)
    return joined
