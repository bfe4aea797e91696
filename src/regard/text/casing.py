"""Texts in capitals and in Title Case: written as a sentence for the model, and its translation as the text was.

A model learns from sentences. It knows hardly any word in capitals, so it spells them, badly.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from enum import Enum

from regard.text.placeholders import Placeholder, without

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_SHORT = 4  # a single word of so many capitals may be an abbreviation; small words of a title may be lower case
_NOUNS_ARE_CAPITALISED = frozenset({"de", "lb"})  # Title Case cannot be told from their ordinary spelling
_SENTENCE_START = re.compile(r"(?:^|[.!?:]\s+)\W*([^\W\d_])")


class Case(Enum):
    """How a text is written."""

    ORDINARY = "ordinary"
    CAPITALS = "capitals"
    SHORT = "short"  # a word in capitals that may be an abbreviation
    TITLE = "title"


def case_of(text: str, language: str, apart: Sequence[Placeholder] = ()) -> Case:
    """How a text is written, placeholders aside."""
    if text.islower() or len(text) < _SHORT - 1:
        return Case.ORDINARY
    words = [match.group() for match in _WORD.finditer(without(text, apart))]
    capitals = sum(word.isupper() for word in words)
    if capitals and capitals == len(words):
        if max(map(len, words)) > _SHORT or (sum(map(len, words)) > _SHORT and " " in text.strip()):
            return Case.CAPITALS
        return Case.SHORT if len(words) == 1 and len(words[0]) >= _SHORT - 1 else Case.ORDINARY
    long = [word for word in words[1:] if len(word) >= _SHORT]
    titled = len(long) >= 2 and all(word[0].isupper() and word[1:].islower() for word in long)
    if titled and words[0][0].isupper() and language not in _NOUNS_ARE_CAPITALISED and text[-1] not in ".!?":
        return Case.TITLE
    return Case.ORDINARY


def as_sentence(text: str, apart: Sequence[Placeholder] = (), before: str = "") -> str:
    """The text in small letters, with a capital where a sentence begins; placeholders stay.

    `before` is what stands before the text, without placeholders.
    """
    shown = list(text)
    for one in apart:
        shown[one.start : one.end] = (" " if one.is_tag else "0") * len(one.string)  # as white space, or as a word
    starts = {found.start(1) - len(before) for found in _SENTENCE_START.finditer(before + "".join(shown))}
    parts, last = list[str](), 0
    for one in (*apart, Placeholder("", len(text), len(text))):
        parts += [text[n].upper() if n in starts else text[n].lower() for n in range(last, one.start)]
        parts.append(one.string)
        last = one.end
    return "".join(parts)


def in_capitals(text: str, apart: Sequence[Placeholder] = ()) -> str:
    """The text in capitals, but for placeholders."""
    return _outside(text, apart, str.upper)


def as_title(text: str, source: str, language: str, apart: Sequence[Placeholder] = ()) -> str:
    """A translation of a title: names as in the source, and in languages that have Title Case, that."""
    names: dict[str, str] = {word.lower(): word for word in _WORD.findall(source) if len(word) >= _SHORT}

    def word(found: re.Match[str]) -> str:
        small: str = found.group()
        if language not in _NOUNS_ARE_CAPITALISED and len(small) >= _SHORT:
            return names.get(small, small[0].upper() + small[1:])
        return names.get(small, small)

    return _outside(text, apart, lambda part: _WORD.sub(word, part))


def _outside(text: str, apart: Sequence[Placeholder], change: Callable[[str], str]) -> str:
    parts, last = list[str](), 0
    for placeholder in apart:
        parts += [change(text[last : placeholder.start]), placeholder.string]
        last = placeholder.end
    return "".join([*parts, change(text[last:])])
