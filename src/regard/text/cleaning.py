"""Cleaning: which sentence pairs are kept, and a count with places for every reason why others are not.

A chunk of pairs is cleaned by itself, in any process. Only duplicates need to know of other chunks: whoever puts the
chunks together holds the set of fingerprints. What is kept and what is dropped always add up to what came in.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from hashlib import blake2b
from itertools import islice
from typing import Literal, NamedTuple

from pydantic import Field

from regard.settings import Settings
from regard.text.normalisation import Change, changes, normalise
from regard.text.pairs import Pair
from regard.text.tally import Tally, merge

_CHUNK = 4096


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
    """The pairs of a chunk that are kept, in normal form; their fingerprints, if duplicates are to go; the report."""

    pairs: list[Pair]
    fingerprints: list[int]
    report: CleaningReport


def clean(pairs: Iterable[Pair], settings: CleaningSettings) -> Cleaned:
    """Clean one chunk, duplicates aside."""
    report = CleaningReport()
    kept: list[Pair] = []
    normal = settings.normalisation == "nfc"
    why_not = _Limits(settings).why_not
    for pair in pairs:
        source, target, path, line = pair
        if normal:
            source, target = normalise(source), normalise(target)
        reason = why_not(source, target)
        if reason is not None:
            report.drop(reason, path, line)
        elif source == pair.source and target == pair.target:
            kept.append(pair)
        else:
            kept.append(Pair(source, target, path, line))
            for change in dict.fromkeys((*changes(pair.source), *changes(pair.target))):
                report.changed.setdefault(change, Tally()).add(path, line)
    report.kept = len(kept)
    fingerprints = [fingerprint(pair.source, pair.target) for pair in kept] if settings.drop_duplicates else []
    return Cleaned(kept, fingerprints, report)


def fingerprint(source: str, target: str) -> int:
    """64 bits that stand for a pair, the same in every process, on every machine and in every release."""
    text = f"{len(source)} {source}{target}".encode(errors="surrogatepass")
    return int.from_bytes(blake2b(text, digest_size=8).digest(), "little")


def drop_duplicates(cleaned: Cleaned, seen: set[int]) -> Cleaned:
    """The chunk without pairs whose fingerprint is in `seen`, which learns those of the others."""
    pairs: list[Pair] = []
    fingerprints: list[int] = []
    report = CleaningReport()
    report.add(cleaned.report)
    for pair, mark in zip(cleaned.pairs, cleaned.fingerprints, strict=True):
        if mark in seen:
            report.drop(Reason.DUPLICATE, pair.path, pair.line)
        else:
            seen.add(mark)
            pairs.append(pair)
            fingerprints.append(mark)
    report.kept = len(pairs)
    return Cleaned(pairs, fingerprints, report)


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
        yield from cleaned.pairs


def chunks(pairs: Iterable[Pair], *, size: int = _CHUNK) -> Iterator[Sequence[Pair]]:
    """The pairs in lists of `size`, the last one shorter."""
    source = iter(pairs)
    while chunk := list(islice(source, size)):
        yield chunk


class _Limits:
    """The settings, ready for a tight loop."""

    def __init__(self, settings: CleaningSettings) -> None:
        self.longest = settings.max_characters
        self.ratio = settings.max_ratio or float("inf")
        self.ratio_from = settings.ratio_from
        self.copies = not settings.drop_copies

    def why_not(self, source: str, target: str) -> Reason | None:
        """Why a pair is dropped, if it is."""
        shorter, longer = len(source), len(target)
        if not shorter:
            return Reason.EMPTY_SOURCE
        if not longer:
            return Reason.EMPTY_TARGET
        if shorter > longer:
            shorter, longer = longer, shorter
        if longer > self.longest:
            return Reason.TOO_LONG
        if longer > self.ratio * shorter and longer >= self.ratio_from:
            return Reason.RATIO
        if source == target and not self.copies:
            return Reason.COPY
        return None
