"""Systems compared on one test set: their scores, whether they differ, where, and in which sentences most."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from regard.errors import CorpusError
from regard.evaluation.significance import SEED, Difference, Interval, Tested, paired
from regard.evaluation.slices import Frequencies, Slicing, by_length, by_rarity
from regard.evaluation.tokenised import joined, joined_references
from regard.metrics import TOKENISED, Counted, Options, Score, count, sentence_scores
from regard.text.pairs import Languages

SENTENCE_METRIC = "chrf"  # the one of the three that says most about a single sentence
EXAMPLES = 20


class System(NamedTuple):
    """A system that is compared: what it is called, and its translations, a line each."""

    name: str
    translations: Sequence[str]


class ReferenceSet(NamedTuple):
    """A test set: what it is called, the references of each line, and its source; no source where none is known."""

    name: str
    references: Sequence[Sequence[str]]
    sources: Sequence[str] = ()
    languages: Languages | None = None


class Example(NamedTuple):
    """A line in which the systems differ, with a score of each in this line."""

    line: int  # from 1
    source: str | None
    references: Sequence[str]
    translations: Sequence[str]
    values: Sequence[float]

    @property
    def spread(self) -> float:
        """How far the systems lie apart."""
        return max(self.values) - min(self.values)


class Comparison(NamedTuple):
    """All that a comparison finds. Lists of systems keep the order in which the systems were given."""

    held_out: str
    languages: Languages | None
    lines: int
    systems: Sequence[str]
    scores: Sequence[Sequence[Score]]  # for each system, one for each metric
    intervals: Sequence[Sequence[Interval]]
    about: Sequence[str]  # a sentence on each metric
    differences: Sequence[Difference]  # for each metric, every system against the first
    slicings: Sequence[Slicing]
    examples: Sequence[Example]  # those that differ most first
    remarks: Sequence[str]

    def table(self) -> dict[str, Any]:
        """The comparison as plain values, ready for JSON."""
        return {
            "test": {
                "name": self.held_out,
                "lines": self.lines,
                "languages": list(self.languages) if self.languages else None,
            },
            "systems": [
                {"name": name, "scores": [_scored(*both) for both in zip(scores, intervals, strict=True)]}
                for name, scores, intervals in zip(self.systems, self.scores, self.intervals, strict=True)
            ],
            "differences": [
                difference._asdict()
                | {"significant": difference.significant, "better": difference.better, "says": difference.in_words()}
                for difference in self.differences
            ],
            "slices": [_sliced(slicing, self.systems) for slicing in self.slicings],
            "sentences": [example._asdict() for example in self.examples],
            "remarks": list(self.remarks),
        }


def compare(
    systems: Sequence[System],
    held_out: ReferenceSet,
    *,
    metrics: Sequence[str] = ("bleu", "chrf", "ter"),
    options: Options | None = None,
    frequencies: Frequencies | None = None,
    seed: int = SEED,
    examples: int = EXAMPLES,
) -> Comparison:
    """Compares every system with the first. Without `frequencies`, words are counted in the references."""
    options = options or Options()
    _check(systems, held_out)
    if options.tokenised:
        systems = [system._replace(translations=joined(system.translations)) for system in systems]
        held_out = held_out._replace(references=joined_references(held_out.references))
    counted = [count(metrics, system.translations, held_out.references, options=options) for system in systems]
    names = [system.name for system in systems]
    by_metric = list(zip(*counted, strict=True))
    tests = [paired(names, of_metric, seed=seed) for of_metric in by_metric]
    return Comparison(
        held_out=held_out.name,
        languages=held_out.languages,
        lines=len(held_out.references),
        systems=names,
        scores=[[one.score() for one in of_system] for of_system in counted],
        intervals=[list(row) for row in zip(*(test.intervals for test in tests), strict=True)],
        about=[of_metric[0].metric.about for of_metric in by_metric],
        differences=_differences(tests),
        slicings=_slicings(held_out, counted, frequencies),
        examples=_examples(systems, held_out, _sentence_values(systems, held_out, counted, options), examples),
        remarks=[TOKENISED] if options.tokenised and any(one.name == "bleu" for one in counted[0]) else [],
    )


def _check(systems: Sequence[System], held_out: ReferenceSet) -> None:
    if len(systems) < 2:
        raise CorpusError(f"a comparison needs at least two systems; given: {len(systems)}.")
    lines = len(held_out.references)
    assert not held_out.sources or len(held_out.sources) == lines
    for system in systems:
        if len(system.translations) != lines:
            raise CorpusError(
                f"{system.name}: there are {len(system.translations):,} lines, but {held_out.name} has {lines:,} "
                "sentences.\n  Expected one translation per sentence, in the same order, one per line."
            )


def _differences(tests: Sequence[Tested]) -> list[Difference]:
    return [difference for test in tests for difference in test.differences]


def _slicings(
    held_out: ReferenceSet, counted: Sequence[Sequence[Counted]], frequencies: Frequencies | None
) -> list[Slicing]:
    references = [line[0] for line in held_out.references]
    by_source = [by_length(held_out.sources, counted, side="source")] if held_out.sources else []
    return [
        *by_source,
        by_length(references, counted, side="reference"),
        by_rarity(references, counted, frequencies=frequencies),
    ]


def _sentence_values(
    systems: Sequence[System], held_out: ReferenceSet, counted: Sequence[Sequence[Counted]], options: Options
) -> list[list[float]]:
    """For each system, the score of each line by itself."""
    values = [[one.sentence_values() for one in of_system if one.name == SENTENCE_METRIC] for of_system in counted]
    if any(values):
        return [of_system[0] for of_system in values]
    return [
        sentence_scores(SENTENCE_METRIC, system.translations, held_out.references, options=options)
        for system in systems
    ]


def _examples(
    systems: Sequence[System], held_out: ReferenceSet, values: Sequence[Sequence[float]], number: int
) -> list[Example]:
    found = [
        Example(
            line=line + 1,
            source=held_out.sources[line] if held_out.sources else None,
            references=held_out.references[line],
            translations=[system.translations[line] for system in systems],
            values=[of_system[line] for of_system in values],
        )
        for line in range(len(held_out.references))
    ]
    differing = [example for example in found if example.spread > 0]
    return sorted(differing, key=lambda example: -example.spread)[:number]


def _scored(score: Score, interval: Interval) -> dict[str, Any]:
    return score._asdict() | {"details": dict(score.details), "interval": interval._asdict()}


def _sliced(slicing: Slicing, systems: Sequence[str]) -> dict[str, Any]:
    parts = [
        {
            "label": part.label,
            "lines": part.lines,
            "scores": {
                name: {score.metric: score.value for score in scores}
                for name, scores in zip(systems, part.scores, strict=True)
            },
        }
        for part in slicing.slices
    ]
    return {"title": slicing.title, "about": slicing.about, "slices": parts}
