"""Tables of sentence pairs: which columns are the source and the target, and whether the first row names them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from regard.errors import CorpusError
from regard.settings import nearest
from regard.text.pairs import sides

if TYPE_CHECKING:
    from regard.text.formats import Reading

_SIDES = (("source", "target"), ("src", "tgt"), ("source text", "target text"), ("original", "translation"))


class Layout(NamedTuple):
    """Where the sides stand, from 0, and whether the first row is a header."""

    source: int
    target: int
    header: bool


def layout(path: Path, reading: Reading, first: Sequence[str]) -> Layout | None:
    """The layout of a table by its first row; None where the columns must be chosen.

    Columns that are asked for come first. Else a header is known by the codes or the names of both languages, or by
    `source` and `target`; and a table of two columns has the source first.
    """
    named = _by_header(reading, first)
    if reading.columns:
        by_number = all(isinstance(column, int) for column in reading.columns)
        return Layout(*by_name(path, reading, first), header=named is not None or not by_number)
    if named:
        return Layout(*named, header=True)
    return Layout(0, 1, header=False) if len(first) == 2 else None


def by_name(path: Path, reading: Reading, header: Sequence[str]) -> tuple[int, int]:
    """The columns that were asked for, from 0; names are looked up in the header."""
    assert reading.columns
    known = [cell.strip().casefold() for cell in header]
    places = []
    for column in reading.columns:
        if isinstance(column, int):
            places.append(column - 1)
        elif column.casefold() in known:
            places.append(known.index(column.casefold()))
        else:
            there = f"its first row has: {', '.join(map(repr, header))}" if header else "its first row is empty"
            raise CorpusError(f"{path}:1: there is no column {column!r}; {there}.\n  {nearest(column, list(header))}")
    if min(places) < 0 or places[0] == places[1]:
        asked = ",".join(map(str, reading.columns))
        raise CorpusError(
            f"--columns {asked}: expected two different column numbers, counted from 1, or names from the first row."
        )
    return places[0], places[1]


def _by_header(reading: Reading, first: Sequence[str]) -> tuple[int, int] | None:
    cells = [cell.strip().casefold() for cell in first]
    codes = tuple(cell if cell and len(cell) <= 11 and " " not in cell else "-" for cell in cells)
    found = sides(reading.languages, codes) or sides(reading.languages, tuple(map(_code, cells)))
    if found:
        return found
    return next(
        ((cells.index(source), cells.index(target)) for source, target in _SIDES if {source, target} <= set(cells)),
        None,
    )


def _code(name: str) -> str:
    """The code of a language by its English name, or by its own."""
    return _codes().get(name, "-")


def _codes() -> dict[str, str]:
    from babel import Locale
    from babel.core import UnknownLocaleError

    codes = {}
    for code in ("en", "de", "fr", "es", "it", "pt", "nl", "pl", "ru", "cs", "sv", "da", "fi", "tr", "uk", "zh", "ja"):
        try:
            locale = Locale.parse(code)
        except UnknownLocaleError:
            continue
        for name in (locale.english_name, locale.display_name):
            if name:
                codes[name.casefold()] = code
    return codes
