"""Cleaning: which sentence pairs are kept, and a count with places for every reason why others are not.

A chunk of pairs is cleaned by itself, in any process, column by column, since most pairs need no second look. Only
duplicates need to know of other chunks: the caller that joins the chunks holds the set of fingerprints. What is kept
and what is dropped always add up to what came in.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from hashlib import blake2b
from itertools import compress
from operator import eq
from typing import Literal, NamedTuple

from pydantic import Field

from regard.settings import Settings
from regard.text.inspection.fingerprint_set import Fingerprints
from regard.text.normalisation import Change, changes, normalise_all
from regard.text.pairs import Chunk, Pair, chunks
from regard.text.tally import Tally, merge


class CleaningSettings(Settings):
    """What is kept. Lengths are in characters, after normalisation."""

    normalisation: Literal["nfc", "none"] = "nfc"
    max_characters: int = Field(default=2000, ge=1)
    max_ratio: float | None = Field(default=5.0, ge=1.0)
    ratio_from: int = Field(default=50, ge=0)  # pairs whose longer side is shorter than this may have any ratio
    drop_copies: bool = True
    drop_duplicates: bool = True


class Reason(Enum):
    """Why a pair is dropped."""

    EMPTY_SOURCE = "the source is empty"
    EMPTY_TARGET = "the target is empty"
    TOO_LONG = "one side is longer than max_characters"
    RATIO = "one side is more than max_ratio times as long as the other"
    COPY = "the target is a copy of the source"
    TOO_MANY_TOKENS = "one side has more than max_tokens tokens"
    DUPLICATE = "the same pair came before"


@dataclass
class CleaningReport:
    """How many pairs were kept; those dropped, by reason; and what normalisation changed, by kind.

    Changes are counted in pairs that are kept, and in their duplicates.
    """

    kept: int = 0
    dropped: dict[Reason, Tally] = field(default_factory=dict)
    changed: dict[Change, Tally] = field(default_factory=dict)

    @property
    def came_in(self) -> int:
        """How many pairs were looked at."""
        return self.kept + sum(tally.count for tally in self.dropped.values())

    def drop(self, reason: Reason, path: str, line: int) -> None:
        """One pair is dropped."""
        self.dropped.setdefault(reason, Tally()).add(path, line)

    def add(self, later: CleaningReport) -> None:
        """Add the report of a later chunk."""
        self.kept += later.kept
        merge(self.dropped, later.dropped)
        merge(self.changed, later.changed)

    def summary(self) -> list[str]:
        """A line for the whole, then one for each reason and each change that happened."""
        return [
            f"{self.kept:,} of {self.came_in:,} sentence pairs are kept",
            *(f"dropped, {reason.value}: {tally}" for reason, tally in self.dropped.items()),
            *(f"changed, {change.value}: {tally}" for change, tally in self.changed.items()),
        ]


class Cleaned(NamedTuple):
    """The pairs of a chunk that are kept, in normal form, and the report."""

    chunk: Chunk
    report: CleaningReport


def clean(chunk: Chunk, settings: CleaningSettings) -> Cleaned:
    """Clean one chunk, duplicates aside."""
    report = CleaningReport()
    sources, targets = chunk.sources, chunk.targets
    if settings.normalisation == "nfc":
        sources, targets = normalise_all(sources), normalise_all(targets)
    keep = [True] * len(sources)
    for number in _doubtful(sources, targets, settings):
        reason = _why_not(sources[number], targets[number], settings)
        if reason is not None:
            keep[number] = False
            report.drop(reason, chunk.path, chunk.lines[number])
    if sources is not chunk.sources or targets is not chunk.targets:
        _count_changes(chunk, sources, targets, keep, report)
    if not all(keep):
        sources, targets = list(compress(sources, keep)), list(compress(targets, keep))
    report.kept = len(sources)
    return Cleaned(Chunk(sources, targets, chunk.path, list(compress(chunk.lines, keep))), report)


def fingerprint(source: str, target: str) -> int:
    """64 bits that stand for a pair, the same in every process, on every machine and in every release."""
    text = f"{len(source)} {source}{target}".encode(errors="surrogatepass")
    return int.from_bytes(blake2b(text, digest_size=8).digest(), "little")


def drop_duplicates(cleaned: Cleaned, seen: set[int] | Fingerprints) -> Cleaned:
    """The chunk without pairs whose fingerprint is in `seen`, which learns those of the others."""
    chunk, report = cleaned.chunk, CleaningReport()
    report.add(cleaned.report)
    keep = []
    for mark, line in zip(map(fingerprint, chunk.sources, chunk.targets), chunk.lines, strict=True):
        keep.append(mark not in seen)
        seen.add(mark)
        if not keep[-1]:
            report.drop(Reason.DUPLICATE, chunk.path, line)
    sources, targets = list(compress(chunk.sources, keep)), list(compress(chunk.targets, keep))
    report.kept = len(sources)
    return Cleaned(Chunk(sources, targets, chunk.path, list(compress(chunk.lines, keep))), report)


def clean_stream(pairs: Iterable[Pair], settings: CleaningSettings, report: CleaningReport) -> Iterator[Pair]:
    """Clean a whole corpus in this process, duplicates included; `report` is complete once the stream has ended.

    It remembers 64 bits a pair, which is some 60 MB for a million.
    """
    seen: set[int] = set()
    for chunk in chunks(pairs):
        cleaned = clean(chunk, settings)
        if settings.drop_duplicates:
            cleaned = drop_duplicates(cleaned, seen)
        report.add(cleaned.report)
        yield from cleaned.chunk.pairs()


def _doubtful(sources: list[str], targets: list[str], settings: CleaningSettings) -> list[int]:
    """The pairs that deserve a second look; the others are within every limit."""
    longest, ratio = settings.max_characters, settings.max_ratio or float("inf")
    suspects = [
        number
        for number, (source, target) in enumerate(zip(map(len, sources), map(len, targets), strict=True))
        if not 0 < source <= longest or not 0 < target <= longest or source > ratio * target or target > ratio * source
    ]
    if settings.drop_copies and any(map(eq, sources, targets)):
        suspects = sorted({*suspects, *(number for number, same in enumerate(map(eq, sources, targets)) if same)})
    return suspects


def _why_not(source: str, target: str, settings: CleaningSettings) -> Reason | None:
    """Why a pair is dropped, if it is."""
    shorter, longer = sorted((len(source), len(target)))
    if not source:
        return Reason.EMPTY_SOURCE
    if not target:
        return Reason.EMPTY_TARGET
    if longer > settings.max_characters:
        return Reason.TOO_LONG
    if settings.max_ratio and longer > settings.max_ratio * shorter and longer >= settings.ratio_from:
        return Reason.RATIO
    if settings.drop_copies and source == target:
        return Reason.COPY
    return None


def _count_changes(
    chunk: Chunk, sources: list[str], targets: list[str], keep: list[bool], report: CleaningReport
) -> None:
    """What normalisation changed in the pairs that are kept, by kind."""
    before = zip(chunk.sources, chunk.targets, strict=True)
    for number, (old, new) in enumerate(zip(before, zip(sources, targets, strict=True), strict=True)):
        if keep[number] and old != new:
            for change in dict.fromkeys((*changes(old[0]), *changes(old[1]))):
                report.changed.setdefault(change, Tally()).add(chunk.path, chunk.lines[number])
