"""Glossaries in files: a line for each phrase of the source, a tab, and the phrase that it must become."""

from __future__ import annotations

from pathlib import Path

from regard.errors import TextError
from regard.text.content import read_text


def read(path: Path) -> dict[str, str]:
    """The phrases of a file and their translations. Blank lines are passed over."""
    entries: dict[str, str] = {}
    for number, line in enumerate(read_text(path).text.splitlines(), start=1):
        if not line.strip():
            continue
        cells = [cell.strip() for cell in line.split("\t")]
        if len(cells) != 2 or not all(cells):
            raise TextError(
                f"{path}:{number}: this line is not a glossary entry.\n"
                "  Expected: a source phrase, a tab, and its translation."
            )
        source, target = cells
        if entries.setdefault(source, target) != target:
            raise TextError(
                f"{path}:{number}: {source!r} already has the translation {entries[source]!r}.\n"
                "  Give one translation per phrase."
            )
    if not entries:
        raise TextError(
            f"{path}: this glossary is empty.\n  Expected on each line: a source phrase, a tab, and its translation."
        )
    return entries
