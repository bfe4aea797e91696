"""Inline markup in a text to be translated: shown to the translator as short numbered tags, and put back, verified.

    Press **[OK](page.md)** now    is shown as    Press <g id="1"><g id="2">OK</g></g> now

Codes at the very start and end of a text, and white space there, are not shown at all: they stay where they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import Enum
from typing import NamedTuple


class LostMarkup(Exception):  # noqa: N818
    """A translation does not have each tag of its source exactly once, or has them crossed."""


class _Kind(Enum):
    TEXT = "text"
    OPEN = "open"
    CLOSE = "close"
    ALONE = "alone"


class _Part(NamedTuple):
    kind: _Kind
    raw: str  # as it stands in the file; of a text, what is shown
    number: int = 0  # an opening code and its closing one have the same


class Inline:
    """A text with codes, built from left to right."""

    def __init__(self) -> None:
        self._parts: list[_Part] = []
        self._count = 0
        self._open: list[int] = []

    def text(self, text: str) -> None:
        """More text, as a person reads it."""
        self._parts.append(_Part(_Kind.TEXT, text))

    def alone(self, raw: str) -> None:
        """A code that stands for itself."""
        self._count += 1
        self._parts.append(_Part(_Kind.ALONE, raw, self._count))

    def open(self, raw: str) -> None:
        """A code that a closing one follows."""
        self._count += 1
        self._open.append(self._count)
        self._parts.append(_Part(_Kind.OPEN, raw, self._count))

    def close(self, raw: str) -> None:
        """The closing code of the innermost open one."""
        self._parts.append(_Part(_Kind.CLOSE, raw, self._open.pop()))

    def shown(self) -> Shown:
        """The text as the translator sees it."""
        assert not self._open
        parts = _joined(self._parts)
        first, last = 0, len(parts)
        while first < last:
            if _at_edge(parts[first]):
                first += 1
            elif _at_edge(parts[last - 1]):
                last -= 1
            elif _encloses(parts[first], parts[last - 1]):
                first, last = first + 1, last - 1
            else:
                break
        return _shown(parts[:first], parts[first:last], parts[last:])


class Shown(NamedTuple):
    """A text with tags, and what stands behind them and around it."""

    text: str
    before: tuple[tuple[bool, str], ...]  # whether it is text, and the text or code
    after: tuple[tuple[bool, str], ...]
    codes: dict[str, str]  # by tag; a closing tag stands under that of its opening one, with a / before it
    tags: re.Pattern[str]

    def restored(self, translation: str, escape: Callable[[str], str] = str) -> str:
        """A translation with the codes in the place of the tags; its text goes through `escape`."""
        parts, missing, opened = [], set(self.codes), list[str]()
        for piece in self.tags.split(translation):
            tag = piece
            if self.tags.fullmatch(piece) and piece.startswith("</"):
                tag = f"/{opened.pop()}" if opened else ""
            elif f"/{piece}" in self.codes:
                opened.append(piece)
            if self.tags.fullmatch(piece):
                if tag not in missing:
                    raise LostMarkup
                missing.remove(tag)
                parts.append(self.codes[tag])
            else:
                parts.append(escape(piece))
        if missing:
            raise LostMarkup
        around = [[escape(raw) if text else raw for text, raw in side] for side in (self.before, self.after)]
        return "".join([*around[0], *parts, *around[1]])


def _joined(parts: list[_Part]) -> list[_Part]:
    """Neighbouring texts as one, and white space at its ends as texts of its own."""
    joined: list[_Part] = []
    for part in parts:
        if part.kind is _Kind.TEXT and joined and joined[-1].kind is _Kind.TEXT:
            joined[-1] = _Part(_Kind.TEXT, joined[-1].raw + part.raw)
        else:
            joined.append(part)
    split: list[_Part] = []
    for part in joined:
        pieces = re.split(r"^(\s+)|(\s+)$", part.raw) if part.kind is _Kind.TEXT else []
        split += [_Part(_Kind.TEXT, piece) for piece in pieces if piece] if pieces else [part]
    return split


def _at_edge(part: _Part) -> bool:
    return part.kind is _Kind.ALONE or (part.kind is _Kind.TEXT and not part.raw.strip())


def _encloses(first: _Part, last: _Part) -> bool:
    return first.kind is _Kind.OPEN and last.kind is _Kind.CLOSE and first.number == last.number


def _shown(before: list[_Part], within: list[_Part], after: list[_Part]) -> Shown:
    literal = "\n".join(part.raw for part in within if part.kind is _Kind.TEXT)
    pair, single = "g", "x"
    while re.search(rf"</?(?:{pair}|{single})[ />]", literal):  # the text itself speaks of such tags
        pair, single = pair + "g", single + "x"
    numbers = {number: n for n, number in enumerate(dict.fromkeys(part.number for part in within if part.number), 1)}
    text, codes = [], dict[str, str]()
    for part in within:
        opening = f'<{pair} id="{numbers.get(part.number)}">'
        if part.kind is _Kind.TEXT:
            text.append(part.raw)
        elif part.kind is _Kind.ALONE:
            text.append(f'<{single} id="{numbers[part.number]}"/>')
            codes[text[-1]] = part.raw
        else:
            closing = part.kind is _Kind.CLOSE
            text.append(f"</{pair}>" if closing else opening)
            codes[f"/{opening}" if closing else opening] = part.raw
    sides = [tuple((part.kind is _Kind.TEXT, part.raw) for part in side) for side in (before, after)]
    tags = re.compile(rf'(<{pair} id="\d+">|</{pair}>|<{single} id="\d+"/>)')
    return Shown("".join(text), sides[0], sides[1], codes, tags)
