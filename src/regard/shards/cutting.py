"""Text files, cut between lines into shards of UTF-8. Memory does not grow with the file."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from regard.errors import TextError
from regard.text.content import mark_and_encoding
from regard.text.files import MAX_CHARACTERS, DamagedFile, blocks

_FIRST = 16  # bytes that are enough for a byte order mark


class Cut(NamedTuple):
    """How a text was cut."""

    shards: int
    lines: int
    encoding: str
    mark: bytes


def cut(path: Path, encoding: str | None, lines: int, keep: Callable[[int, str], None]) -> Cut:
    """Gives shards of so many lines to `keep`, with their numbers from 0; an empty file is one empty shard.

    A line ends at a line feed, which belongs to it.
    """
    source = _bytes(path)
    first = next(source, b"")
    mark, encoding = mark_and_encoding(path, first[:_FIRST], encoding)
    number, count, waiting = 0, 0, list[str]()
    for line in _lines(_decoded(chain([first[len(mark) :]], source), encoding, path), path):
        waiting.append(line)
        count += 1
        if len(waiting) == lines:
            keep(number, "".join(waiting))
            number, waiting = number + 1, []
    if waiting or not number:
        keep(number, "".join(waiting))
        number += 1
    return Cut(number, count, encoding, mark)


def _bytes(path: Path) -> Iterator[bytes]:
    try:
        yield from blocks(path)
    except DamagedFile as damage:
        raise TextError(f"{path}: {damage}\n  Download or create the file again.") from None


def _decoded(source: Iterator[bytes], encoding: str, path: Path) -> Iterator[str]:
    """The text in blocks. It must have the same bytes when it is written again, as in `regard.text.content`."""
    decoder, encoder = codecs.getincrementaldecoder(encoding)(), codecs.getincrementalencoder(encoding)()
    read, line, expected, made = 0, 1, b"", b""
    for block in chain(source, [b""]):
        read += len(block)
        try:
            text = decoder.decode(block, final=not block)
        except UnicodeDecodeError as error:
            line += error.object.count(b"\n", 0, error.start)
            position = read - len(error.object) + error.start + 1
            raise TextError(
                f"{path}:{line}: byte {position:,} of this text, {error.object[error.start]:#04x}, is not "
                f"{encoding.upper()}.\n  Give the right encoding with --encoding, or convert the file to UTF-8."
            ) from None
        expected, made = expected + block, made + encoder.encode(text, final=not block)
        both = min(len(expected), len(made)) if block else max(len(expected), len(made))
        if "\0" in text or expected[:both] != made[:both]:
            raise TextError(
                f"{path}: this is not {encoding.upper()} text.\n"
                "  The file may be damaged, may not be text, or may have another encoding. Convert it to UTF-8."
            )
        expected, made = expected[both:], made[both:]
        line += text.count("\n")
        yield text


def _lines(source: Iterator[str], path: Path) -> Iterator[str]:
    """The lines with their ends; one that is too long for Regard is an error."""
    number, rest = 0, ""
    for text in source:
        *whole, rest = (rest + text).split("\n")
        for line in whole:
            number += 1
            _check_length(line, path, number)
            yield f"{line}\n"
        _check_length(rest, path, number + 1)
    if rest:
        yield rest


def _check_length(line: str, path: Path, number: int) -> None:
    if len(line) > MAX_CHARACTERS and len(line.strip()) > MAX_CHARACTERS:
        raise TextError(
            f"{path}:{number}: this segment is longer than {MAX_CHARACTERS:,} characters.\n"
            "  Check whether the file has the right format."
        )
