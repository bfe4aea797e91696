"""Counts that remember where they were counted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

PLACES = 10  # how many places a tally remembers

Key = TypeVar("Key")


@dataclass
class Tally:
    """How often something was met, and the first places (file, line) of it."""

    count: int = 0
    places: list[tuple[str, int]] = field(default_factory=list)

    def add(self, path: str, line: int) -> None:
        """One more, at this place."""
        self.count += 1
        if len(self.places) < PLACES:
            self.places.append((path, line))

    def merge(self, later: Tally) -> None:
        """Add what was counted in a later part of the same text."""
        self.count += later.count
        self.places.extend(later.places[: PLACES - len(self.places)])

    def __str__(self) -> str:
        """`3 (a.tsv:1, a.tsv:7, b.tsv:2)`, with dots where there are more places than are remembered."""
        places = ", ".join(f"{path}:{line}" for path, line in self.places)
        return f"{self.count:,} ({places}{', ...' if self.count > len(self.places) else ''})"


def merge(tallies: dict[Key, Tally], later: Mapping[Key, Tally]) -> None:
    """Add the tallies of a later part to `tallies`, key by key."""
    for key, tally in later.items():
        tallies.setdefault(key, Tally()).merge(tally)
