"""ICU messages: `{n, plural, one {# file} other {# files}}`. Their branches are texts; their structure is not.

A message is taken apart into texts that can be translated, and put together again from their translations. Where an
argument with branches stands within a text, the text shows a simple one of the same name in its place: `{n}`, or
`{n_}` where the text has an argument `{n}` as well. In a branch of a plural, `#` stands for the number: the text shows
a number of that plural form.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_QUICK = re.compile(r"\{\s*\w+\s*,\s*(?:plural|select|selectordinal)\s*,")
_HEAD = re.compile(r"\{\s*(\w+)\s*,\s*(plural|select|selectordinal)\s*,\s*(?:offset:\d+\s*)?")
_SELECTOR = re.compile(r"\s*(=\d+|\w+)\s*\{")
_NUMBERS = {"zero": 0, "one": 1, "two": 2, "few": 3, "many": 11, "other": 5}


@dataclass(frozen=True)
class Choice:
    """An argument with branches."""

    name: str
    kind: str
    head: str  # up to its first selector, as it is written
    branches: tuple[tuple[str, Message], ...]  # what stands before each branch, its brace included, and the branch
    tail: str  # what stands behind the last branch, with the closing brace

    def shape(self) -> tuple[object, ...]:
        """All but its texts."""
        return (self.name, self.kind, tuple((before.split(), branch.shape()) for before, branch in self.branches))


@dataclass(frozen=True)
class Message:
    """Texts and choices in turn; `number` stands for # where the message is a branch of a plural."""

    parts: tuple[str | Choice, ...]
    number: str = ""

    def shape(self) -> tuple[object, ...]:
        """The choices."""
        return tuple(part.shape() for part in self.parts if isinstance(part, Choice))

    def text(self) -> str:
        """What a translator is to see of this message itself."""
        names = iter(self._shown())
        shown = [next(names) if isinstance(part, Choice) else part for part in self.parts]
        return "".join(part.replace("#", self.number) if self.number else part for part in shown)

    def _shown(self) -> list[str]:
        """What stands for each choice: its name in braces, longer where another argument is called so."""
        literal = "".join(part for part in self.parts if isinstance(part, str))
        shown: list[str] = []
        for part in self.parts:
            if isinstance(part, Choice):
                name = part.name
                while f"{{{name}}}" in literal or f"{{{name}}}" in shown:
                    name += "_"
                shown.append(f"{{{name}}}")
        return shown

    def texts(self) -> Iterator[str]:
        """The texts of this message and, after it, of the branches within it."""
        yield self.text()
        for part in self.parts:
            if isinstance(part, Choice):
                for _, branch in part.branches:
                    yield from branch.texts()

    def filled(self, translations: Iterator[str]) -> str:
        """The message with other texts, in the order of `texts`."""
        text = next(translations)
        if self.number and any("#" in part for part in self.parts if isinstance(part, str)):
            text = re.sub(rf"(?<!\d){self.number}(?!\d)", "#", text)
        choices = [part for part in self.parts if isinstance(part, Choice)]
        if not choices:
            return text
        whole = dict[str, str]()
        for part, shown in zip(choices, self._shown(), strict=True):
            branches = "".join(f"{before}{branch.filled(translations)}}}" for before, branch in part.branches)
            whole[shown] = f"{part.head}{branches}{part.tail}"
        return re.sub("|".join(map(re.escape, whole)), lambda found: whole.pop(found[0], found[0]), text)


def has_branches(text: str) -> bool:
    """Whether a text looks like a message with branches."""
    return "{" in text and _QUICK.search(text) is not None


def message(text: str) -> Message | None:
    """The message; None where it has no branches, or its braces do not match, or quotes hide some."""
    if not has_branches(text) or re.search(r"'[{}#]", text):
        return None
    try:
        found, end = _message(text, 0, "")
    except _Broken:
        return None
    return found if end == len(text) and found.shape() else None


class _Broken(Exception):  # noqa: N818
    pass


def _message(text: str, start: int, number: str) -> tuple[Message, int]:
    parts, place, began = list[str | Choice](), start, start
    while place < len(text) and text[place] != "}":
        if head := _HEAD.match(text, place):
            choice, end = _choice(text, head)
            parts += [text[began:place], choice]
            place = began = end
        elif text[place] == "{":
            place = _closed(text, place)
        else:
            place += 1
    parts.append(text[began:place])
    own = tuple(part for part in parts if part)
    return Message(own, number), place


def _choice(text: str, head: re.Match[str]) -> tuple[Choice, int]:
    branches, place = list[tuple[str, Message]](), head.end()
    while selector := _SELECTOR.match(text, place):
        number = _number(selector[1], text) if head[2] != "select" else ""
        branch, end = _message(text, selector.end(), number)
        if end >= len(text):
            raise _Broken
        branches.append((selector.group(), branch))
        place = end + 1
    tail = re.compile(r"\s*\}").match(text, place)
    if not branches or tail is None:
        raise _Broken
    return Choice(head[1], head[2], head.group(), tuple(branches), tail.group()), tail.end()


def _number(selector: str, text: str) -> str:
    """A number of this plural form, which the text does not have."""
    value = int(selector[1:]) if selector.startswith("=") else _NUMBERS.get(selector, 5)
    if value != 1:
        while re.search(rf"(?<!\d){value}(?!\d)", text):
            value += 10
    return str(value)


def _closed(text: str, start: int) -> int:
    """The place behind the brace that closes the one at `start`."""
    depth = 0
    for place in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        if depth == 0:
            return place + 1
    raise _Broken
