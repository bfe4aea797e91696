"""Plain text as documents: one a line, separated by blank lines, or one a file.

Each line is brought into its normal form. A line break within a document becomes one character, `BREAK`, since
tokenisers know no line breaks: `in_one_line` puts it in, `in_lines` takes it out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from regard.errors import CorpusError
from regard.text.bad_input import BadInput
from regard.text.files import bare_name, lines
from regard.text.normalisation import normalise

BREAK = "␤"  # U+2424, the symbol for a new line

How = Literal["auto", "lines", "paragraphs", "files"]


class Document(NamedTuple):
    """A document in one line, and where it begins."""

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
            yield Document(BREAK.join(block), path, first)


def in_one_line(text: str) -> str:
    """Any text with `BREAK` for its line breaks, each line in normal form; an empty one for an empty text."""
    return BREAK.join(normalise(line) for line in text.split("\n"))


def in_lines(text: str) -> str:
    """The text with its line breaks back; spaces around them go."""
    return "\n".join(line.strip(" ") for line in text.split(BREAK)) if BREAK in text else text


def apart(text: str) -> str:
    """The text with spaces around every `BREAK`, so that it is a word of its own."""
    return " ".join(text.replace(BREAK, f" {BREAK} ").split(" ")).strip(" ").replace("  ", " ")


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
