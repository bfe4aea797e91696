"""A corpus looked through as a whole: everything that is wrong with it, and what it is like. Nothing stops this.

The files are read twice: first for what can be counted, then for single lines whose sides do not look like the others.
Memory is bounded but for the fingerprints of pairs, which are 12 to 24 bytes each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass, field
from typing import NamedTuple

from regard.text.bad_input import BadInput
from regard.text.cleaning import CleaningReport, CleaningSettings, clean, drop_duplicates
from regard.text.corpus import read
from regard.text.formats import Reading
from regard.text.inspection.direction import Misplaced, WordSides, misplaced
from regard.text.inspection.fingerprint_set import Fingerprints
from regard.text.inspection.languages import Profile, base, judged, words
from regard.text.inspection.oddities import Odd, count_oddities
from regard.text.inspection.spreadsheets import Spreadsheet
from regard.text.inspection.statistics import SideStatistics
from regard.text.inspection.test_sets import KnownPairs, named_like_test_sets
from regard.text.pairs import Chunk, Columns, Languages, Pair, chunks
from regard.text.tally import Tally

Progress = Callable[[int], None]
"""Told how many pairs were read so far; the second reading starts from 0 again."""


class Corpus(NamedTuple):
    """What is looked through: files as for training, and how they are read."""

    data: tuple[str, ...]
    languages: Languages
    format: str | None = None
    columns: Columns | None = None
    encoding: str | None = None

    def pairs(self, bad: BadInput) -> Iterator[Pair]:
        """The pairs as they stand in the files."""
        return read(
            self.data, self.languages, format=self.format, columns=self.columns, encoding=self.encoding, bad=bad
        )


class Profiles(NamedTuple):
    """What the two sides of a file look like."""

    source: Profile
    target: Profile


@dataclass
class Inspection:
    """Everything that was found. Statistics are of the pairs that cleaning keeps."""

    corpus: Corpus
    bad: BadInput = field(default_factory=lambda: BadInput(skip=True))
    cleaning: CleaningReport = field(default_factory=CleaningReport)
    source: SideStatistics = field(default_factory=SideStatistics)
    target: SideStatistics = field(default_factory=SideStatistics)
    files: dict[str, Profiles] = field(default_factory=dict)
    kept_in: Counter[str] = field(default_factory=Counter)
    odd: dict[Odd, Tally] = field(default_factory=dict)
    spreadsheet: Spreadsheet = field(default_factory=Spreadsheet)
    misplaced: dict[Misplaced, Tally] = field(default_factory=dict)
    third: dict[tuple[str, str], Tally] = field(default_factory=dict)  # by side and language
    judged: Counter[str] = field(default_factory=Counter)  # lines whose language is clear, by side
    held_out: KnownPairs | None = None
    like_tests: tuple[str, ...] = ()
    beside_training: bool = False

    @property
    def profiles(self) -> Profiles:
        """What the two sides look like as a whole."""
        whole = Profiles(Profile(), Profile())
        for source, target in self.files.values():
            whole.source.merge(source)
            whole.target.merge(target)
        return whole


def look_through(
    corpus: Corpus, *, tests: Corpus | None = None, cleaning: CleaningSettings, progress: Progress | None = None
) -> Inspection:
    """Everything about a corpus, and what it shares with the test sets."""
    found = Inspection(corpus)
    reading = Reading(corpus.languages, found.bad, corpus.columns, corpus.encoding)
    like_tests, found.beside_training = named_like_test_sets(corpus.data, reading, format=corpus.format)
    found.like_tests = tuple(like_tests)
    if tests:
        found.held_out = KnownPairs(tests.pairs(found.bad))
    evidence = _count(found, cleaning, progress).evidence()
    if evidence:
        _find_misplaced(found, evidence, cleaning, progress)
    return found


def _count(found: Inspection, settings: CleaningSettings, progress: Progress | None) -> WordSides:
    """The first reading."""
    sides, seen = WordSides(), Fingerprints()
    for raw in chunks(found.corpus.pairs(found.bad)):
        count_oddities(raw, found.odd)
        found.spreadsheet.look(raw, found.corpus.languages)
        cleaned = clean(raw, settings)
        if found.held_out:
            found.held_out.look_for(cleaned.chunk)
        if settings.drop_duplicates:
            cleaned = drop_duplicates(cleaned, seen)
        found.cleaning.add(cleaned.report)
        _gather(found, cleaned.chunk, sides)
        if progress:
            progress(found.cleaning.came_in)
    return sides


def _gather(found: Inspection, chunk: Chunk, sides: WordSides) -> None:
    profiles = found.files.setdefault(chunk.path, Profiles(Profile(), Profile()))
    found.kept_in[chunk.path] += len(chunk.lines)
    counted = []
    for texts, statistics, profile in (
        (chunk.sources, found.source, profiles.source),
        (chunk.targets, found.target, profiles.target),
    ):
        whole = "\n".join(texts)
        alphabet, vocabulary = Counter(whole), Counter(words(whole))
        del alphabet["\n"]
        statistics.add(texts, alphabet)
        profile.add(vocabulary, alphabet)
        counted.append(vocabulary)
    sides.add(*counted)


def _find_misplaced(
    found: Inspection, evidence: dict[str, float], settings: CleaningSettings, progress: Progress | None
) -> None:
    """The second reading."""
    count = 0
    for raw in chunks(found.corpus.pairs(BadInput(skip=True))):
        for source, target, path, line in clean(raw, settings).chunk.pairs():
            source_words, target_words = set(words(source)), set(words(target))
            what = misplaced(source_words, target_words, evidence)
            if what:
                found.misplaced.setdefault(what, Tally()).add(path, line)
            _judge(found, "source", source_words, (path, line))
            _judge(found, "target", target_words, (path, line))
        count += len(raw.lines)
        if progress:
            progress(count)


def _judge(found: Inspection, side: str, own: Set[str], place: tuple[str, int]) -> None:
    """Counts a line whose language is clear, and where it is neither the source nor the target language."""
    languages = found.corpus.languages
    language = judged(own, base(getattr(languages, side)))
    if language:
        found.judged[side] += 1
        if language not in map(base, languages):
            found.third.setdefault((side, language), Tally()).add(*place)


def look_like(files: dict[str, Profiles], languages: Languages) -> Sequence[tuple[str, str | None, str | None]]:
    """The files whose sides are clearly in other languages than asked for, with what each side is instead."""
    judged = ((path, s.instead_of(languages.source), t.instead_of(languages.target)) for path, (s, t) in files.items())
    return [(path, source, target) for path, source, target in judged if source or target]
