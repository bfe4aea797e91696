"""Labelled text: lines of text, tab, label; or of words, tab, as many tags."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from regard.errors import CorpusError
from regard.text.bad_input import BadInput, Problem
from regard.text.files import lines
from regard.text.normalisation import normalise
from regard.text.pairs import Columns
from regard.text.plain_documents import text_files


class Labelled(NamedTuple):
    """A text and its labels: one for the whole text, or one for each of its words."""

    text: str
    labels: tuple[str, ...]
    path: Path
    line: int


def classes(names: Sequence[str | Path], *, columns: Columns | None, bad: BadInput) -> Iterator[Labelled]:
    """Texts with a label each."""
    for path, number, text, label in _cells(names, columns or (1, 2), bad):
        if not label:
            bad.line(Problem.LABEL, path, number, "this line has no label.")
        elif not text:
            bad.line(Problem.LABEL, path, number, "this line has a label but no text.")
        else:
            yield Labelled(text, (label,), path, number)


def tags(names: Sequence[str | Path], *, columns: Columns | None, bad: BadInput) -> Iterator[Labelled]:
    """Words, separated by spaces, with a tag each."""
    for path, number, text, listed in _cells(names, columns or (1, 2), bad):
        words, found = text.split(" "), tuple(listed.split(" "))
        if not listed:
            bad.line(Problem.TAGS, path, number, "this line has no tags.")
        elif not text:
            bad.line(Problem.TAGS, path, number, "this line has tags but no words.")
        elif len(words) != len(found):
            what = f"this line has {len(words)} words but {len(found)} tags."
            bad.line(Problem.TAGS, path, number, what)
        else:
            yield Labelled(text, found, path, number)


def _cells(names: Sequence[str | Path], columns: Columns, bad: BadInput) -> Iterator[tuple[Path, int, str, str]]:
    """The two columns of each line that is not blank; a column that a line lacks is empty.

    Columns that are named are looked up in the first line of each file.
    """
    for path in text_files(names):
        places = None if any(isinstance(column, str) for column in columns) else [int(column) - 1 for column in columns]
        for number, line in enumerate(lines(path, bad), start=1):
            if line is None or not line.strip():
                continue
            cells = line.split("\t")
            if places is None:
                places = [_place(path, column, cells) for column in columns]
                continue
            text, labels = (normalise(cells[place]) if place < len(cells) else "" for place in places)
            yield path, number, text, labels


def _place(path: Path, column: int | str, header: Sequence[str]) -> int:
    """Where a column stands, from 0."""
    if isinstance(column, int):
        return column - 1
    known = [cell.strip().casefold() for cell in header]
    if column.casefold() not in known:
        raise CorpusError(
            f"{path}:1: there is no column {column!r}; the first line has: {', '.join(map(repr, header))}.\n"
            "  Give column numbers, counted from 1, or names from the first line: --columns text,label"
        )
    return known.index(column.casefold())
