"""What an inspection found, as a list: how grave it is, how often and where it was met, and what to do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any, NamedTuple

from regard.text.held_out import HeldOut
from regard.text.inspection import Inspection, look_like
from regard.text.languages import base
from regard.text.pairs import Languages
from regard.text.tally import Tally

_WHOLE_FILE = 0  # the line of a place that is a file


class Gravity(Enum):
    """How grave a finding is. The first two mean that the corpus should not be trained on as it is."""

    STOPS = "stops training"
    WRONG = "wrong results"
    NOTE = "note"


class Finding(NamedTuple):
    """One thing that was found; `kind` is its name for programs."""

    kind: str
    gravity: Gravity
    what: str
    tally: Tally
    advice: str = ""

    def table(self) -> dict[str, Any]:
        """The finding for programs."""
        return {
            "kind": self.kind,
            "gravity": self.gravity.name.lower(),
            "what": self.what,
            "count": self.tally.count,
            "places": [{"path": path, "line": line or None} for path, line in self.tally.places],
            "advice": self.advice,
        }


def findings(found: Inspection) -> list[Finding]:
    """Everything that was found, the gravest first."""
    everything = [
        *_bad(found),
        *_nothing_left(found),
        *_named_like_tests(found),
        *_shared(found.held_out),
        *_wrong_languages(found),
        *_kinds("dropped", found.cleaning.dropped, "dropped: {}"),
        *_kinds("passed_over", found.bad.not_pairs, "passed over: {}"),
        *_kinds("misplaced", found.misplaced, "{}"),
        *(Finding(f"odd_{odd.name.lower()}", Gravity.NOTE, odd.label, tally) for odd, tally in found.odd.items()),
        *_kinds("changed", found.cleaning.changed, "changed: {}"),
    ]
    gravities = list(Gravity)
    return sorted(everything, key=lambda finding: gravities.index(finding.gravity))


def _bad(found: Inspection) -> Iterator[Finding]:
    for problem, tally in found.bad.problems.items():
        yield Finding(problem.name.lower(), Gravity.STOPS, problem.label, tally, problem.hint)


def _nothing_left(found: Inspection) -> Iterator[Finding]:
    if not found.cleaning.kept and not found.bad.problems:
        yield Finding("nothing_left", Gravity.STOPS, "no sentence pair is left", Tally(found.cleaning.came_in))


def _named_like_tests(found: Inspection) -> Iterator[Finding]:
    if found.like_tests:
        gravity = Gravity.WRONG if found.beside_training else Gravity.NOTE
        tally = Tally(len(found.like_tests), [(path, _WHOLE_FILE) for path in found.like_tests])
        what = "files of a folder or pattern are named like test or validation sets, and would be trained on"
        yield Finding("named_like_test_set", gravity, what, tally, "Name the training files instead.")


def _shared(held_out: HeldOut | None) -> Iterator[Finding]:
    if held_out is None:
        return
    (pairs, of_pairs), (sources, of_sources) = held_out.same_pair, held_out.same_source
    if pairs.count:
        what = f"pairs are in the test set too: {len(of_pairs):,} of its {len(held_out.pairs):,} different pairs"
        advice = "Take them out of the training set: scores on sentences seen in training say nothing."
        yield Finding("in_test_set", Gravity.WRONG, what, pairs, advice)
    if sources.count:
        what = (
            f"sources are in the test set too, with another translation: "
            f"{len(of_sources):,} of its {len(held_out.sources):,} different sources"
        )
        yield Finding("source_in_test_set", Gravity.NOTE, what, sources)


def _wrong_languages(found: Inspection) -> Iterator[Finding]:
    languages = found.corpus.languages
    by_sides: dict[tuple[str | None, str | None], Tally] = {}
    for path, source, target in look_like(found.files, languages):
        tally = by_sides.setdefault((source, target), Tally())
        tally.add(path, _WHOLE_FILE)
        tally.count += found.kept_in[path] - 1
    for (source, target), tally in by_sides.items():
        swapped = (source, target) == (base(languages.target), base(languages.source))
        advice = f"Exchange --source and --target{', or the columns' if found.corpus.columns else ''}."
        kind, what = ("sides_swapped", "pairs in files whose sides are swapped") if swapped else ("wrong_language", "")
        what = what or f"pairs in files of other languages: {_instead(source, target, languages)}"
        yield Finding(
            kind, Gravity.WRONG, what, tally, advice if swapped else "Check --source, --target and --columns."
        )


def _instead(source: str | None, target: str | None, languages: Languages) -> str:
    sides = (("source", source, languages.source), ("target", target, languages.target))
    return ", ".join(f"the {side} looks like {found}, not {asked}" for side, found, asked in sides if found)


def _kinds(prefix: str, tallies: Mapping[Any, Tally], text: str) -> Iterator[Finding]:
    """A note for each member of an Enum that was counted, the most frequent first."""
    for reason, tally in sorted(tallies.items(), key=lambda item: -item[1].count):
        yield Finding(f"{prefix}_{reason.name.lower()}", Gravity.NOTE, text.format(reason.value), tally)
