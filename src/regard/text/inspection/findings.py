"""What an inspection found, as a list: how grave it is, how often and where it was met, and what to do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum
from pathlib import Path
from shlex import quote
from typing import Any, NamedTuple

from regard.text.bad_input import BadInput
from regard.text.corpus import check_command
from regard.text.files import bare_name
from regard.text.formats import Reading, tsv
from regard.text.inspection.inspect import Corpus, Inspection, look_like
from regard.text.inspection.languages import base
from regard.text.inspection.test_sets import KnownPairs
from regard.text.pairs import Columns, Languages
from regard.text.tally import Tally

_WHOLE_FILE = 0  # the line of a place that is a file
_MANY = 0.2  # of the lines whose language is clear


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
        *_too_few(found),
        *_named_like_tests(found),
        *_shared(found.held_out),
        *_wrong_languages(found),
        *_third_languages(found),
        *_spreadsheet(found),
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


def _too_few(found: Inspection) -> Iterator[Finding]:
    kept = found.cleaning.kept
    if not kept and not found.bad.problems:
        yield Finding("nothing_left", Gravity.STOPS, "no sentence pair is left", Tally(found.cleaning.came_in))
    if kept == 1:
        advice = (
            "Training holds pairs out for validation, so it needs at least two. Learning a language takes thousands."
        )
        yield Finding("one_pair", Gravity.STOPS, "there is only one sentence pair", Tally(1), advice)


def _spreadsheet(found: Inspection) -> Iterator[Finding]:
    pairs, header = found.cleaning.came_in, found.spreadsheet.header
    quoted = found.spreadsheet.cells_in_quotes(pairs)
    if header.count:
        what = "files whose first line is a header row, which training would take for a pair"
        yield Finding("header_row", Gravity.NOTE, what, header, "Delete the first line.")
    if quoted.count:
        gravity = Gravity.WRONG if 2 * quoted.count > pairs else Gravity.NOTE
        what = "pairs whose cells are in quotation marks, as spreadsheets write them; Regard reads these as text"
        advice = "Export without quotation marks: in TSV, a cell is the text between two tabs, without escapes."
        yield Finding("quoted_cells", gravity, what, quoted, advice)


def _named_like_tests(found: Inspection) -> Iterator[Finding]:
    if found.like_tests:
        gravity = Gravity.WRONG if found.beside_training else Gravity.NOTE
        tally = Tally(len(found.like_tests), [(path, _WHOLE_FILE) for path in found.like_tests])
        what = "files of a folder or pattern that are named like test or validation sets; training would use them"
        yield Finding("named_like_test_set", gravity, what, tally, "Give the training files by name instead.")


def _shared(held_out: KnownPairs | None) -> Iterator[Finding]:
    if held_out is None:
        return
    (pairs, of_pairs), (sources, of_sources) = held_out.same_pair, held_out.same_source
    if pairs.count:
        what = f"pairs that are also in the test set: {len(of_pairs):,} of its {len(held_out.pairs):,} distinct pairs"
        advice = "Remove them from the training data: scores on sentences seen in training are meaningless."
        yield Finding("in_test_set", Gravity.WRONG, what, pairs, advice)
    if sources.count:
        what = (
            f"sources that are also in the test set, with another translation: "
            f"{len(of_sources):,} of its {len(held_out.sources):,} distinct sources"
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
        if (source, target) == (base(languages.target), base(languages.source)):
            advice = exchanged(found.corpus, tally.places[0][0])
            what = "pairs in files whose sides are swapped"
            yield Finding("sides_swapped", Gravity.WRONG, what, tally, f"Swap them: {advice}")
        else:
            what = f"pairs in files of other languages: {_instead(source, target, languages)}"
            advice = "Check --source, --target and --columns."
            yield Finding("wrong_language", Gravity.WRONG, what, tally, advice)


def exchanged(corpus: Corpus, path: str) -> str:
    """The command that reads a corpus with its sides exchanged, where `path` is one of its files."""
    columns: Columns | None = corpus.columns and corpus.columns[::-1]
    languages = corpus.languages
    if corpus.format == "tsv" or bare_name(Path(path)).lower().endswith(tsv.SUFFIXES):
        columns = tsv.exchanged(Path(path), Reading(corpus.languages, BadInput(), corpus.columns))
    elif columns is None:
        languages = languages.reversed()
    data = [quote(item) for item in corpus.data]
    return check_command(data, languages, format=corpus.format, columns=columns, encoding=corpus.encoding)


def _third_languages(found: Inspection) -> Iterator[Finding]:
    """Lines in neither language, unless whole files of them were found before."""
    whole = {
        (side, language)
        for _, source, target in look_like(found.files, found.corpus.languages)
        for side, language in (("source", source), ("target", target))
    }
    for (side, language), tally in sorted(found.third.items(), key=lambda item: -item[1].count):
        if (side, language) in whole:
            continue
        many = tally.count > _MANY * found.judged[side]
        asked = getattr(found.corpus.languages, side)
        what = f"lines whose {side} looks like {language}, not {asked}"
        advice = f"Remove them: a model trained on them mixes {language} into its translations." if many else ""
        yield Finding("third_language", Gravity.WRONG if many else Gravity.NOTE, what, tally, advice)


def _instead(source: str | None, target: str | None, languages: Languages) -> str:
    sides = (("source", source, languages.source), ("target", target, languages.target))
    return ", ".join(f"the {side} looks like {found}, not {asked}" for side, found, asked in sides if found)


def _kinds(prefix: str, tallies: Mapping[Any, Tally], text: str) -> Iterator[Finding]:
    """A note for each member of an Enum that was counted, the most frequent first."""
    for reason, tally in sorted(tallies.items(), key=lambda item: -item[1].count):
        yield Finding(f"{prefix}_{reason.name.lower()}", Gravity.NOTE, text.format(reason.value), tally)
