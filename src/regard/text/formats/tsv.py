"""Tab-separated values: the source, a tab, the target. Nothing is quoted and nothing is escaped.

Where columns are chosen by name, the first line has their names.
Where the name of the file says the languages (`en-de.train.tsv.gz`), they say the order of its columns.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from regard.errors import CorpusError
from regard.text.bad_input import BadInput, NotAPair, Problem
from regard.text.files import bare_name, lines, replacing
from regard.text.formats import Reading
from regard.text.lines import encoded_line
from regard.text.pairs import Columns, Languages, Pair, matches
from regard.text.tables import by_name

SUFFIXES = (".tsv", ".tab")

_CODE = "[A-Za-z]{2,3}(?:_[A-Za-z]{2,4})?"
_NAMED = re.compile(f"(?<![A-Za-z])({_CODE})-({_CODE})(?![A-Za-z-])")


def find(path: Path, reading: Reading) -> tuple[Path, ...]:
    """The file, unless its name says that it is in other languages."""
    if not (bare_name(path).lower().endswith(SUFFIXES) and path.is_file()):
        return ()
    foreign = _names_others(path, reading.languages)
    if foreign:
        raise CorpusError(
            f"{path}: the file name says {foreign}, but Regard reads {reading.languages}.\n"
            "  Check --source and --target. If the name means something else, give the format: --format tsv"
        )
    return (path,)


def read(paths: Sequence[Path], reading: Reading) -> Iterator[Pair]:
    """The pairs of a file, a line each."""
    (path,) = paths
    name, bad = str(path), reading.bad
    named = reading.columns is not None and not all(isinstance(column, int) for column in reading.columns)
    source, target = (0, 1) if named else order(path, reading)
    expected = 0 if reading.columns else 2
    for number, line in enumerate(lines(path, bad, reading.encoding), start=1):
        if line is None:
            continue
        cells = line.split("\t")
        if named and number == 1:
            source, target = by_name(path, reading, cells)
            continue
        if len(cells) == expected or (not expected and len(cells) > source and len(cells) > target):
            yield Pair(cells[source], cells[target], name, number)
        elif not line.strip():
            bad.pass_over(NotAPair.BLANK, path, number)
        else:
            _complain(len(cells), path, number, bad, columns=reading.columns)


def order(path: Path, reading: Reading) -> tuple[int, int]:
    """The columns of source and target, from 0: as asked for, as the name of the file says, or the source first."""
    if reading.columns:
        return by_name(path, reading, [])
    return (1, 0) if _said(path, reading.languages) is False else (0, 1)


def exchanged(path: Path, reading: Reading) -> Columns:
    """The columns that read a file with its sides exchanged."""
    if reading.columns:
        return reading.columns[1], reading.columns[0]
    source, target = order(path, reading)
    return target + 1, source + 1


def write(path: Path, pairs: Iterable[Pair], languages: Languages) -> None:
    """One line a pair, the source first unless the name of the file says the reverse."""
    reverse = _said(path, languages) is False
    with replacing(path) as file:
        for number, pair in enumerate(pairs, start=1):
            cells = (pair.target, pair.source) if reverse else (pair.source, pair.target)
            file.write(encoded_line(cells, path, number))


def _said(path: Path, languages: Languages) -> bool | None:
    """Whether the name says these languages (True) or their reverse (False); None where it says neither."""
    orders = (languages.of(Languages(*found)) for found in _NAMED.findall(bare_name(path)))
    return next((order for order in orders if order is not None), None)


def _names_others(path: Path, languages: Languages) -> str | None:
    """Another pair of languages that the name says: one of those asked for, with one that is not."""
    if _said(path, languages) is not None:
        return None
    named = _NAMED.findall(bare_name(path))
    others = ("-".join(found) for found in named if any(matches(w, code) for w in languages for code in found))
    return next(others, None)


def _complain(width: int, path: Path, number: int, bad: BadInput, *, columns: Columns | None) -> None:
    if width == 1:
        what = "this line has only one column: it contains no tab."
    elif columns:
        what = f"this line has {width} columns, but columns {columns[0]} and {columns[1]} were requested."
    else:
        example = f"--columns {width - 1},{width}"
        what = f"this line has {width} columns. Choose the source and the target, for example: {example}"
    bad.line(Problem.COLUMNS, path, number, what)
