"""Lines to be written: a text that does not fit into one line is reported before it damages a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from regard.errors import CorpusError

_IMPOSSIBLE = {"\n": "a line break", "\r": "a carriage return", "\0": "a NUL character"}


def encoded(text: str, path: Path, number: int) -> bytes:
    """The UTF-8 of a text of pair `number`; half a surrogate pair has none."""
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise cannot_hold(
            path, number, f"the code point U+{ord(text[error.start]):04X}, which is not a character"
        ) from None


def encoded_line(cells: Sequence[str], path: Path, number: int) -> bytes:
    """The cells of pair `number` with tabs between them, as one line."""
    for cell in cells:
        for character, name in (*_IMPOSSIBLE.items(), *([("\t", "a tab")] if len(cells) > 1 else [])):
            if character in cell:
                raise cannot_hold(path, number, name)
    if number == 1 and cells[0].startswith("\ufeff"):
        raise cannot_hold(path, number, "a byte order mark at its start")
    return encoded("\t".join(cells) + "\n", path, number)


def cannot_hold(path: Path, number: int, what: str) -> CorpusError:
    """The error for a pair that the format cannot hold."""
    return CorpusError(
        f"{path}: pair {number:,} contains {what}, which this format cannot store.\n"
        "  Clean the text first, or write it as JSONL. Nothing has been written."
    )
