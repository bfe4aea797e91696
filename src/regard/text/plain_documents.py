"""Plain text as documents: one a line, separated by blank lines, or one a file.

Each line is brought into its normal form. Line breaks within a document stay; `tokens/lines.py` gives them an id.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from regard.errors import CorpusError
from regard.text.bad_input import BadInput
from regard.text.files import bare_name, lines
from regard.text.normalisation import normalise

How = Literal["auto", "lines", "paragraphs", "files"]


class Document(NamedTuple):
    """A document, and where it begins."""

    text: str
    path: Path
    line: int


def text_files(names: Sequence[str | Path]) -> list[Path]:
    """The files of these names; a folder gives its text files."""
    found: list[Path] = []
    for name in names:
        path = Path(name)
        if path.is_dir():
            inside = sorted(file for file in path.iterdir() if file.is_file() and bare_name(file).endswith(".txt"))
            if not inside:
                raise CorpusError(f"{path}: this folder contains no .txt files.\n  Give the files themselves.")
            found += inside
        elif path.suffix.lower() == ".npz":
            raise CorpusError(
                f"{path}: this is a file of arrays, not of text.\n"
                "  Train on vectors or images with --task recognition (labels) or --task transcription (texts)."
            )
        elif path.is_file():
            found.append(path)
        else:
            raise CorpusError(f"{path}: there is no such file.\n  Check the path and the name.")
    return found


def documents(names: Sequence[str | Path], *, how: How = "auto", bad: BadInput | None = None) -> Iterator[Document]:
    """The documents of these files, in order. `auto`: by blank lines in files that have some, else one a line."""
    bad = bad or BadInput()
    for path in text_files(names):
        chosen = _how(path) if how == "auto" else how
        for first, block in _blocks(path, chosen, bad):
            yield Document("\n".join(block), path, first)


def _how(path: Path) -> How:
    """By blank lines if there is one between two lines of text."""
    blank = False
    text = False
    for line in lines(path, BadInput(skip=True)):
        if not (line or "").strip():
            blank = text
        elif blank:
            return "paragraphs"
        else:
            text = True
    return "lines"


def _blocks(path: Path, how: How, bad: BadInput) -> Iterator[tuple[int, list[str]]]:
    """The lines of each document, and the number of the first."""
    block: list[str] = []
    first = 1
    for number, line in enumerate(lines(path, bad), start=1):
        if line is None:
            continue
        normal = normalise(line)
        ends = how == "lines" or (how == "paragraphs" and not normal)
        if ends and block:
            yield first, block
            block = []
        if normal or (how == "files" and block):
            first = first if block else number
            block.append(normal)
    while block and not block[-1]:
        block.pop()
    if block:
        yield first, block
