"""Sentence pairs, one by one and in columns, and their languages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import groupby, islice, repeat
from operator import itemgetter
from typing import NamedTuple

_CHUNK = 8192

Column = int | str
"""A column of a table: its number, from 1, or the name that its first row gives it."""

Columns = tuple[Column, Column]
"""Those of the source and of the target."""


class Pair(NamedTuple):
    """A sentence, its translation, and where they stand: the line of the unit or entry, from 1."""

    source: str
    target: str
    path: str = ""
    line: int = 0


class Chunk(NamedTuple):
    """Pairs of one file in columns, which are faster to work on and to send than pairs."""

    sources: list[str]
    targets: list[str]
    path: str
    lines: list[int]

    def pairs(self) -> Iterator[Pair]:
        """The pairs one by one."""
        return map(Pair, self.sources, self.targets, repeat(self.path), self.lines)


def chunks(pairs: Iterable[Pair], *, size: int = _CHUNK) -> Iterator[Chunk]:
    """The pairs in chunks of at most `size`, none of which reaches over the end of a file."""
    stream = iter(pairs)
    while taken := list(islice(stream, size)):
        for path, together in groupby(taken, key=itemgetter(2)):
            sources, targets, _, lines = zip(*together, strict=True)
            yield Chunk(list(sources), list(targets), path, list(lines))


class Languages(NamedTuple):
    """From which language into which, as codes: `en`, `de`, `pt-BR`."""

    source: str
    target: str

    def __str__(self) -> str:
        return f"{self.source} to {self.target}"

    def reversed(self) -> Languages:
        """The other direction."""
        return Languages(self.target, self.source)

    def of(self, found: Languages) -> bool | None:
        """Whether text in the languages `found` serves: True as it is, False reversed, None not at all."""
        if matches(self.source, found.source) and matches(self.target, found.target):
            return True
        if matches(self.source, found.target) and matches(self.target, found.source):
            return False
        return None


def matches(wanted: str, found: str) -> bool:
    """Whether text in the language `found` serves for `wanted`: `de` takes `de_AT`, `pt-BR` does not take `pt-PT`.

    Every part of the wanted code must be in the found one, in order, the first one first: `zh-CN` takes `zh-Hans-CN`.
    """
    wanted_parts, found_parts = _parts(wanted), iter(_parts(found))
    if wanted_parts[0] != next(found_parts):
        return False
    return all(part in found_parts for part in wanted_parts[1:])


def serves(wanted: str, found: str) -> bool:
    """Whether either of two codes takes the other: a model for `pt-BR` translates a document in `pt`."""
    return matches(wanted, found) or matches(found, wanted)


@lru_cache(maxsize=4096)
def sides(languages: Languages, found: tuple[str, ...]) -> tuple[int, int] | None:
    """Which of the languages `found` are the source and the target, by position; None where one of them is missing.

    The same code beats a longer one. A position serves once, so that two texts in one language are source, then target.
    """
    source_first = len(languages.source) >= len(languages.target)
    first, second = languages if source_first else languages.reversed()
    first_place = _place(first, found, taken=None)
    second_place = _place(second, found, taken=first_place)
    if first_place is None or second_place is None:
        return None
    return (first_place, second_place) if source_first else (second_place, first_place)


def _place(wanted: str, found: Sequence[str], *, taken: int | None) -> int | None:
    fitting = [place for place, code in enumerate(found) if place != taken and matches(wanted, code)]
    return min(fitting, key=lambda place: (len(_parts(found[place])), place), default=None)


@lru_cache(maxsize=4096)
def _parts(code: str) -> tuple[str, ...]:
    return tuple(re.split("[-_@.]", code.strip().lower()))
