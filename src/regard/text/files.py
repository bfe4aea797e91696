"""Files of text: opened by name, compressed or not, read in blocks or lines, and written so that none is half there.

No function here needs more memory than a block and the longest line that is allowed, whatever the file holds.
"""

from __future__ import annotations

import codecs
import gzip
import lzma
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO, cast

import zstandard

from regard.errors import CorpusError
from regard.files import new_file
from regard.text.bad_input import BadInput, Problem

COMPRESSIONS = (".gz", ".xz", ".zst")
MAX_CHARACTERS = 100_000  # in a line, a segment or a message

_BLOCK = 1 << 20
_PIECE = 1 << 17
_ZSTANDARD_BLOCK = 1 << 12  # a hostile one of these grows to 128 MiB at most
_MAX_BYTES = 4 * MAX_CHARACTERS  # no character of UTF-8 needs more than four
_DAMAGE = (EOFError, gzip.BadGzipFile, zlib.error, lzma.LZMAError, zstandard.ZstdError)


class DamagedFile(Exception):  # noqa: N818
    """The compressed file cannot be read further; caught where the line is known."""


class WrongEncodingError(CorpusError):
    """The text is not in the encoding that was given or declared."""


def is_known_encoding(name: str) -> bool:
    """Whether Python knows an encoding of text by this name."""
    try:
        "".encode(name)
    except (LookupError, UnicodeError):
        return False
    return True


def bare_name(path: Path) -> str:
    """The name of the file without the ending of its compression: `train.en.gz` is `train.en`."""
    return path.stem if path.suffix in COMPRESSIONS else path.name


def blocks(path: Path, *, size: int = _BLOCK) -> Iterator[bytes]:
    """The bytes of a file, decompressed; `DamagedFile` where its compression is broken or cut off."""
    position = 0
    try:
        for block in _gathered(_zstandard_pieces(path) if path.suffix == ".zst" else _pieces(path), size):
            position += len(block)
            yield block
    except _DAMAGE as error:
        cut_off = isinstance(error, EOFError)
        how = "is truncated" if cut_off else f"is not a valid {path.suffix[1:]} file"
        raise DamagedFile(f"the compressed file {how}, after {position:,} bytes of text.") from error
    except OSError as error:
        raise CorpusError(
            f"{path}: this file cannot be read: {error.strerror}.\n  Check the path, the name and the permissions."
        ) from None


def lines(path: Path, bad: BadInput, encoding: str | None = None) -> Iterator[str | None]:
    """The lines of a file without their ends (LF or CRLF), None for each bad one, which `bad` has counted.

    The file is UTF-8, unless another encoding is given.
    """
    return lines_in(blocks(path) if encoding is None else transcoded(blocks(path), encoding, path), path, bad)


def transcoded(source: Iterator[bytes], encoding: str, path: Path) -> Iterator[bytes]:
    """The blocks of a text in another encoding as UTF-8."""
    decoder, position = codecs.getincrementaldecoder(encoding)(), 0
    try:
        for block in source:
            yield decoder.decode(block).encode()
            position += len(block)
        yield decoder.decode(b"", final=True).encode()
    except UnicodeDecodeError as error:
        raise WrongEncodingError(
            f"{path}: byte {position + error.start + 1:,} of this text, {error.object[error.start]:#04x}, is not "
            f"{encoding.upper()}.\n  Give the right encoding with --encoding."
        ) from None
    except UnicodeError:
        raise WrongEncodingError(
            f"{path}: this text is not {encoding.upper()}.\n  Give the right encoding with --encoding."
        ) from None


def lines_in(source: Iterator[bytes], path: Path, bad: BadInput) -> Iterator[str | None]:
    """The lines of UTF-8 text that arrives in blocks, each as soon as its end has arrived; `path` names the text."""
    number = 0
    try:
        for piece in _whole_lines(_without_mark(source, path, bad)):
            good = _decoded(piece)
            if good is None:
                for raw in piece.split(b"\n"):
                    number += 1
                    yield _checked(raw, path, number, bad)
            else:
                yield from good
                number += len(good)
    except DamagedFile as damage:
        bad.file(Problem.DAMAGED, path, number + 1, str(damage))


def count_lines(path: Path) -> int | None:
    """How many lines a file has; None where it is damaged."""
    count, last = 0, b"\n"
    try:
        for block in blocks(path):
            count += block.count(b"\n")
            last = block[-1:]
    except DamagedFile:
        return None
    return count + (last != b"\n")


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A new file, compressed as its name says, that takes the place of `path` when all of it has been written."""
    try:
        with new_file(path) as file, _compressing(file, path.suffix) as stream:
            yield stream
    except OSError as error:
        raise CorpusError(
            f"{path}: this file cannot be written: {error.strerror}.\n  Check the folder and its permissions."
        ) from None


def _pieces(path: Path) -> Iterator[bytes]:
    with _opened(path) as file:
        while piece := file.read1(_PIECE):
            yield piece


def _gathered(pieces: Iterator[bytes], size: int) -> Iterator[bytes]:
    """Blocks of about this size; where the pieces break off, what there was comes before the error."""
    parts: list[bytes] = []
    length = 0
    error = None
    while error is None:
        try:
            parts.append(next(pieces))
        except (*_DAMAGE, StopIteration) as caught:
            error = caught
        else:
            length += len(parts[-1])
        if length and (length >= size or error):
            yield b"".join(parts)
            parts, length = [], 0
    if not isinstance(error, StopIteration):
        raise error


def _opened(path: Path) -> BufferedReader:
    if path.suffix == ".gz":
        return cast("BufferedReader", gzip.open(path, "rb"))
    if path.suffix == ".xz":
        return cast("BufferedReader", lzma.open(path, "rb"))
    return path.open("rb")


def _zstandard_pieces(path: Path) -> Iterator[bytes]:
    """By hand, since the stream reader of the library takes a file that is cut off for a whole one."""
    decompressor = zstandard.ZstdDecompressor()
    frame, within = decompressor.decompressobj(), False
    with path.open("rb") as file:
        while data := file.read(_ZSTANDARD_BLOCK):
            while data:
                yield frame.decompress(data)
                within, data = not frame.eof, frame.unused_data
                if frame.eof:
                    frame = decompressor.decompressobj()
    if within:
        raise EOFError


def _without_mark(source: Iterator[bytes], path: Path, bad: BadInput) -> Iterator[bytes]:
    """The blocks of a UTF-8 text without its byte order mark."""
    first = next(source, b"")
    if not first:
        bad.file(Problem.EMPTY_FILE, path, None, "this file is empty.")
    elif first.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        bad.file(Problem.UTF16, path, None, "this file is UTF-16.")
    else:
        yield first.removeprefix(codecs.BOM_UTF8)
        yield from source


def _whole_lines(source: Iterator[bytes]) -> Iterator[bytes]:
    """Pieces that end where a line ends, without that end; a line that never ends keeps just enough to be too long."""
    rest = b""
    for block in source:
        head, end, tail = block.rpartition(b"\n")
        if end:
            yield rest + head
            rest = b""
        rest = (rest + tail)[: _MAX_BYTES + 1]
    if rest:
        yield rest


def _decoded(piece: bytes) -> list[str] | None:
    """The lines of a piece, or None where one of them is bad."""
    if b"\0" in piece:
        return None
    try:
        text = piece.decode()
    except UnicodeDecodeError:
        return None
    found = text.split("\n")
    if "\r" in text:
        found = [line.removesuffix("\r") for line in found]
    return found if max(map(len, found)) <= MAX_CHARACTERS else None


def _checked(raw: bytes, path: Path, number: int, bad: BadInput) -> str | None:
    """One line of a piece that has a bad line."""
    raw = raw.removesuffix(b"\r")
    if len(raw) > _MAX_BYTES:
        bad.line(Problem.TOO_LONG, path, number, f"this line is longer than {MAX_CHARACTERS:,} characters.")
        return None
    if b"\0" in raw:
        bad.line(Problem.NUL, path, number, f"there is a NUL byte in this line, at byte {raw.index(0) + 1}.")
        return None
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        what = f"byte {error.start + 1} of this line, {raw[error.start]:#04x}, is not UTF-8."
        bad.line(Problem.NOT_UTF8, path, number, what)
        return None
    if len(text) > MAX_CHARACTERS:
        bad.line(Problem.TOO_LONG, path, number, f"this line is longer than {MAX_CHARACTERS:,} characters.")
        return None
    return text


@contextmanager
def _compressing(file: BinaryIO, suffix: str) -> Iterator[BinaryIO]:
    if suffix == ".gz":
        with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0, compresslevel=6) as stream:
            yield cast("BinaryIO", stream)
    elif suffix == ".xz":
        with lzma.open(file, "wb") as stream:
            yield cast("BinaryIO", stream)
    elif suffix == ".zst":
        with zstandard.ZstdCompressor().stream_writer(file, closefd=False) as stream:
            yield cast("BinaryIO", stream)
    else:
        yield file
