"""The report for a reviewer: the segments with findings, and the model's confidence in them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from regard.text.memory import Match
from regard.translation.checks import Finding

UNSURE = 0.5  # a translation with less confidence than this is worth a look
_MOST = 5000  # segments that are remembered one by one, and near matches likewise


@dataclass(frozen=True, kw_only=True)
class Segment:
    """A translated segment that is worth a look."""

    where: str  # file and line
    source: str
    text: str
    confidence: float
    findings: tuple[Finding, ...] = ()
    refused: bool = False  # the source text stayed


@dataclass(frozen=True, kw_only=True)
class Near:
    """Pairs of a translation memory whose sources are near that of a segment, and what the model said."""

    where: str  # file and line
    line: int
    part: str  # of a package; empty in other files
    source: str
    text: str
    matches: tuple[Match, ...]


def notes(findings: Sequence[Finding], confidence: float) -> tuple[str, ...]:
    """What is written beside a segment in a document; nothing where there is nothing to say."""
    if not findings and confidence >= UNSURE:
        return ()
    told = [f"{finding.check}: {finding.detail}" for finding in findings]
    return (f"confidence {confidence:.2f}", *told)


@dataclass
class Review:
    """All segments of a run: counts of everything, and the segments themselves where something was found."""

    segments: int = 0
    refused: int = 0
    unsure: int = 0
    checks: Counter[str] = field(default_factory=Counter)
    worth_a_look: list[Segment] = field(default_factory=list)
    near: list[Near] = field(default_factory=list)
    _found: int = 0

    def add(self, segment: Segment) -> None:
        """One more segment."""
        self.segments += 1
        self.refused += segment.refused
        self.unsure += segment.confidence < UNSURE
        self._found += bool(segment.findings)
        self.checks.update({finding.check for finding in segment.findings})
        if (segment.findings or segment.confidence < UNSURE) and len(self.worth_a_look) < _MOST:
            self.worth_a_look.append(segment)

    def add_document(self, segments: int, worth_a_look: Sequence[Segment]) -> None:
        """A document of so many translated segments, of which these are worth a look."""
        for segment in worth_a_look:
            self.add(segment)
        self.segments += segments - len(worth_a_look)

    def offer(self, near: Sequence[Near]) -> None:
        """What a translation memory has for some of the segments."""
        self.near += near[: _MOST - len(self.near)]

    @property
    def found(self) -> int:
        """How many segments have findings."""
        return self._found

    def summary(self) -> str:
        """One sentence or two; empty where nothing was found."""
        if not self._found:
            return ""
        by_check = ", ".join(f"{check} {count:,}" for check, count in self.checks.most_common())
        told = f"The checks found something in {self._found:,} of {self.segments:,} segments: {by_check}."
        return f"{told} {self.refused:,} kept their source text." if self.refused else told
