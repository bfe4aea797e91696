"""CSV, the tables that spreadsheets export: cells may be in quotes, and the first row may name the columns.

Cells are separated by commas, semicolons or tabs: by whichever the first row has most of. A header is known by the
codes or names of the languages, or by `source` and `target`; other columns are chosen by number or name.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path

from regard.text.bad_input import NotAPair, Problem
from regard.text.files import lines, replacing
from regard.text.formats import Reading
from regard.text.lines import encoded
from regard.text.pairs import Languages, Pair
from regard.text.tables import layout

SUFFIXES = (".csv",)

_SEPARATORS = ",;\t"


def read(paths: Sequence[Path], reading: Reading) -> Iterator[Pair]:
    """The pairs of a file, a row each."""
    (path,) = paths
    rows = _rows(path, reading)
    first = next(rows, None)
    if first is None:
        return
    found = layout(path, reading, first[1])
    if found is None:
        what = f"this table has {len(first[1])} columns: {', '.join(map(repr, first[1][:8]))}."
        reading.bad.file(Problem.TABLE, path, 1, what)
        return
    for line, cells in rows if found.header else chain([first], rows):
        if max(found[:2]) < len(cells):
            yield Pair(cells[found.source], cells[found.target], str(path), line)
        elif not any(cells):
            reading.bad.pass_over(NotAPair.BLANK, path, line)
        else:
            what = f"this row has {len(cells)} columns, but column {max(found[:2]) + 1} is needed."
            reading.bad.line(Problem.TABLE, path, line, what)


def write(path: Path, pairs: Iterable[Pair], languages: Languages) -> None:
    """A header of the language codes, then a row a pair."""
    with replacing(path) as file:
        for number, cells in enumerate([languages, *((pair.source, pair.target) for pair in pairs)]):
            row = io.StringIO()
            csv.writer(row, lineterminator="\n").writerow(cells)
            file.write(encoded(row.getvalue(), path, number))


def _rows(path: Path, reading: Reading) -> Iterator[tuple[int, list[str]]]:
    """Each row and the line on which it starts."""
    source = (f"{line}\n" for line in lines(path, reading.bad, reading.encoding) if line is not None)
    first = next(source, None)
    if first is None:
        return
    separator = max(_SEPARATORS, key=_outside_quotes(first).count)
    reader = csv.reader(chain([first], source), delimiter=separator, strict=True)
    line = 1
    try:
        for cells in reader:
            yield line, cells
            line = reader.line_num + 1
    except csv.Error as error:
        reading.bad.file(Problem.TABLE, path, line, f"this row is not valid CSV: {error}.")


def _outside_quotes(line: str) -> str:
    return "".join(line.split('"')[::2])
