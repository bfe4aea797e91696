"""XLSX, the tables of Excel: the first sheet that has rows. Its first row may name the columns, as in CSV."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

from regard.errors import SettingsError, TextError
from regard.text.bad_input import NotAPair, Problem
from regard.text.files import replacing
from regard.text.formats import Reading
from regard.text.lines import cannot_hold
from regard.text.packages import check_archive
from regard.text.pairs import Languages, Pair
from regard.text.tables import layout

SUFFIXES = (".xlsx", ".xlsm")

_UNFIT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def read(paths: Sequence[Path], reading: Reading) -> Iterator[Pair]:
    """The pairs of a sheet, a row each."""
    (path,) = paths
    try:
        check_archive(path)
        book = _library().load_workbook(path, read_only=True, data_only=True)
    except TextError as error:
        what, _, _ = str(error).removeprefix(f"{path}: ").partition("\n")
        return reading.bad.file(Problem.TABLE, path, None, what)
    except (BadZipFile, KeyError, ValueError, OSError) as error:
        return reading.bad.file(Problem.TABLE, path, None, f"this is not a sound XLSX file: {error}.")
    try:
        yield from _pairs(path, reading, book)
    finally:
        book.close()
    return None


def write(path: Path, pairs: Iterable[Pair], languages: Languages) -> None:
    """A sheet with a header of the language codes, then a row a pair."""
    book = _library().Workbook(write_only=True)
    sheet = book.create_sheet("pairs")
    sheet.append(list(languages))
    for number, pair in enumerate(pairs, start=1):
        if _UNFIT.search(pair.source) or _UNFIT.search(pair.target):
            raise cannot_hold(path, number, "a character that XLSX forbids")
        sheet.append([pair.source, pair.target])
    with replacing(path) as file:
        book.save(file)


def _library() -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import openpyxl
    except ImportError:
        raise SettingsError(
            "XLSX needs openpyxl, which is not installed.\n  Install it with: pip install 'regard[documents]'"
        ) from None
    return openpyxl


def _pairs(path: Path, reading: Reading, book: Any) -> Iterator[Pair]:
    rows = _rows(book)
    first = next(rows, None)
    found = layout(path, reading, first[1]) if first else None
    if first is None or found is None:
        names = ", ".join(map(repr, first[1][:8])) if first else "none"
        what = f"its first sheet has these columns: {names}."
        return reading.bad.file(Problem.TABLE, path, 1, what)
    for line, cells in rows if found.header else chain([first], rows):
        if max(found[:2]) < len(cells):
            source, target = cells[found.source], cells[found.target]
            if source or target:
                yield Pair(source, target, str(path), line)
            else:
                reading.bad.pass_over(NotAPair.BLANK, path, line)
        elif any(cells):
            what = f"this row has {len(cells)} columns, but column {max(found[:2]) + 1} is needed."
            reading.bad.line(Problem.TABLE, path, line, what)
    return None


def _rows(book: Any) -> Iterator[tuple[int, list[str]]]:
    """The rows of the first sheet that has any, with their numbers."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about styles and extensions, which have no text
        for sheet in book.worksheets:
            started = False
            for number, row in enumerate(sheet.iter_rows(values_only=True), start=1):
                cells = ["" if cell is None else str(cell) for cell in row]
                if started or any(cells):
                    started = True
                    yield number, cells
            if started:
                return
