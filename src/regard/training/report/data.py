"""What became of the training data, in words: pairs kept, dropped, changed and passed over, each with its reason."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any, NamedTuple

from regard.text.bad_input import NotAPair, Problem
from regard.text.cleaning import Reason
from regard.text.normalisation import Change


class Counted(NamedTuple):
    """So many, and why."""

    why: str
    pairs: int


class Data(NamedTuple):
    """The counts of a corpus, the largest first."""

    kept: int
    dropped: list[Counted]
    changed: list[Counted]
    bad: list[Counted]
    passed_over: list[Counted]

    @property
    def looked_at(self) -> int:
        """Sentence pairs that were read without a problem."""
        return self.kept + sum(counted.pairs for counted in self.dropped)


def data_of(corpus: Mapping[str, Any]) -> Data:
    """The counts in what a stored corpus says of itself."""
    return Data(
        int(corpus.get("kept") or 0),
        _counted(corpus.get("dropped"), Reason),
        _counted(corpus.get("changed"), Change),
        _counted(corpus.get("bad"), Problem),
        _counted(corpus.get("passed_over"), NotAPair),
    )


def _counted(counts: Mapping[str, int] | None, kind: type[Enum]) -> list[Counted]:
    found = [Counted(_in_words(kind, name), number) for name, number in (counts or {}).items()]
    return sorted(found, key=lambda counted: -counted.pairs)


def _in_words(kind: type[Enum], name: str) -> str:
    member = kind.__members__.get(name.upper())
    if member is None:
        return name.replace("_", " ")
    return member.label if isinstance(member, Problem) else str(member.value)
