"""Lines for commands that answer each line with a line: texts that were given, files, or standard input."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

_WINDOW = 512


def line_windows(texts: Sequence[str], files: Sequence[Path]) -> Iterator[list[str]]:
    """The lines in order, many at a time."""
    from regard.cli.standard_input import windows
    from regard.text.bad_input import BadInput
    from regard.text.files import lines

    if texts:
        yield list(texts)
    for path in files:
        found = (line or "" for line in lines(path, BadInput()))
        while window := list(islice(found, _WINDOW)):
            yield window
    if not texts and not files:
        yield from windows()
