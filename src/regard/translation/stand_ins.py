"""Stand-ins: simple words and numbers in the place of strings that a model cannot say, until the strings come back.

Every model copies a two-digit number, and a well-known name, far more reliably than a telephone number or a name in
letters that it has never seen; and it builds the sentence around them as around the real thing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

_NUMBERS = ("23", "47", "68", "35", "82", "94", "56", "71", "29", "63", "38", "74")
_NAMES = ("Berlin", "Peter", "Paris", "Anna", "London", "Maria", "Robert", "Martin")


class Span(NamedTuple):
    """A string of a text that is to survive, and where it stands."""

    string: str
    start: int
    end: int


class StandIns(NamedTuple):
    """A text with stand-ins, and what each stands for."""

    text: str
    strings: tuple[tuple[str, str], ...]

    def put_back(self, translation: str) -> str | None:
        """The translation with the strings in their places; None unless each stand-in is there exactly once."""
        if any(len(re.findall(_alone(name), translation)) != 1 for name, _ in self.strings):
            return None
        return re.sub("|".join(_alone(name) for name, _ in self.strings), self._string, translation)

    def _string(self, match: re.Match[str]) -> str:
        return dict(self.strings)[match.group()]


def stand_ins(text: str, spans: Sequence[Span], kind: Callable[[Span], str]) -> StandIns | None:
    """The text with stand-ins for the spans, each of the `kind` number or name; None where there are not enough."""
    left = {
        "number": [name for name in _NUMBERS if name not in text],
        "name": [name for name in _NAMES if name.lower() not in text.lower()],
    }
    parts, last, strings = list[str](), 0, list[tuple[str, str]]()
    for span in spans:
        names = left[kind(span)]
        if not names:
            return None
        strings.append((names.pop(0), span.string))
        parts += [text[last : span.start], strings[-1][0]]
        last = span.end
    return StandIns("".join([*parts, text[last:]]), tuple(strings))


def _alone(name: str) -> str:
    """A number with no digit beside it; a name, which may have got an ending."""
    return rf"(?<![\d]){name}(?![\d]|[.,]\d)" if name.isdecimal() else rf"(?<!\w){name}"
