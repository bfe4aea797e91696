"""Gathering: the text of a corpus, read once, for everything that looks at all of it before training.

Documents are read side by side, each by a process of its own. What they hold is written to a temporary folder in chunks
that any process can load: the statistics, the tokeniser's sample and the preparation work on these, so no file is
decompressed or parsed twice.
"""

from __future__ import annotations

import gc
import json
import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from regard.batches.corpus import owner, sweep
from regard.errors import CorpusError
from regard.text.bad_input import BadInput
from regard.text.corpus import documents
from regard.text.formats import Reading, by_name
from regard.text.inspection.statistics import SideStatistics
from regard.text.pairs import Chunk, Columns, Languages, chunks
from regard.tokens.listing import character_counts

CHUNK = 8192  # pairs
INLINE = 4  # a corpus of so many chunks is not worth other processes
_FIRST = 16  # chunks, after which most corpora have shown too many strings to list them
_SMALL = 4 << 20  # bytes of files that are not worth other processes
_ENCODING = ("utf-8", "surrogatepass")  # JSON can hold halves of surrogate pairs
_LENGTH, _LINE = np.dtype(np.int32), np.dtype(np.int64)
_ROOM = "Check its permissions and the free space on its disk."
_MEMORY = "The machine may have run out of memory. Close other programs."


class Text(Protocol):
    """Which files are read, and how: the part of a `Source` that decides about pairs."""

    @property
    def data(self) -> tuple[str, ...]: ...  # noqa: D102

    @property
    def languages(self) -> Languages: ...  # noqa: D102

    @property
    def format(self) -> str | None: ...  # noqa: D102

    @property
    def columns(self) -> Columns | None: ...  # noqa: D102

    @property
    def encoding(self) -> str | None: ...  # noqa: D102

    @property
    def skip_bad(self) -> bool: ...  # noqa: D102


class Piece(NamedTuple):
    """Where a chunk lies: the texts of the source as one, those of the target, all lengths, and the lines' numbers."""

    file: str
    start: int
    sizes: tuple[int, int]  # bytes of the texts
    pairs: int
    path: str  # of the document

    def chunk(self) -> Chunk:
        """The chunk itself."""
        with open(self.file, "rb") as file:  # noqa: PTH123
            file.seek(self.start + sum(self.sizes) + 2 * self.pairs * _LENGTH.itemsize)
            lines = np.fromfile(file, _LINE, self.pairs).tolist()
        return Chunk(apart(*self.side(0)), apart(*self.side(1)), self.path, lines)

    def side(self, number: int) -> tuple[str, NDArray[np.int32]]:
        """The texts of the source (0) or the target (1) as one, and the length of each."""
        with open(self.file, "rb") as file:  # noqa: PTH123
            file.seek(self.start + number * self.sizes[0])
            text = file.read(self.sizes[number]).decode(*_ENCODING)
            file.seek(self.start + sum(self.sizes) + number * self.pairs * _LENGTH.itemsize)
            return text, np.fromfile(file, _LENGTH, self.pairs)


def _written(chunk: Chunk, name: str, file: BinaryIO) -> Piece:
    """Writes a chunk at the end of a file."""
    start, sides = file.tell(), (chunk.sources, chunk.targets)
    texts = ["".join(side).encode(*_ENCODING) for side in sides]
    lengths = [np.fromiter(map(len, side), _LENGTH, len(side)) for side in sides]
    file.writelines([*texts, *(part.tobytes() for part in lengths), np.array(chunk.lines, _LINE).tobytes()])
    return Piece(name, start, (len(texts[0]), len(texts[1])), len(chunk.lines), chunk.path)


def apart(text: str, lengths: NDArray[np.int32]) -> list[str]:
    """The texts of these lengths that were put together."""
    ends = lengths.cumsum(dtype=np.int64).tolist()
    return [text[start:end] for start, end in zip([0, *ends], ends, strict=False)]


class Gathered:
    """The pairs of a corpus in the order of its files, on the disk until they are removed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.pieces: list[Piece] = []
        self.bad = BadInput(skip=True)
        self.remove = weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)  # at the latest when all ends

    @property
    def pairs(self) -> int:
        """How many there are."""
        return sum(piece.pairs for piece in self.pieces)

    def sources(self, *, every: int = 1) -> Iterator[str]:
        """The texts of the source side: the first, and each that comes `every` texts later."""
        return self._texts(0, every)

    def targets(self, *, every: int = 1) -> Iterator[str]:
        """The same of the target side."""
        return self._texts(1, every)

    def _texts(self, side: int, every: int) -> Iterator[str]:
        place = 0
        for piece in self.pieces:
            text, lengths = piece.side(side)
            ends = lengths.cumsum(dtype=np.int64)
            chosen = slice(-place % every, None, every)
            for start, end in zip((ends - lengths)[chosen].tolist(), ends[chosen].tolist(), strict=True):
                yield text[start:end]
            place += piece.pairs

    def statistics(self, *, workers: int | None = None) -> tuple[SideStatistics, SideStatistics]:
        """What both sides are like."""
        source, target = SideStatistics(), SideStatistics()
        with no_search_for_cycles(), _processes(workers if len(self.pieces) > INLINE else 1) as run:
            for pieces in (self.pieces[:_FIRST], self.pieces[_FIRST:]):
                full = source.full and target.full  # then further strings are not asked for, nor sent
                for of_source, of_target in run(_sizes_only if full else _statistics, pieces):
                    source.merge(of_source)
                    target.merge(of_target)
        return source, target


_remembered: dict[str, Gathered] = {}


def gathered(text: Text, folder: Path, *, workers: int | None = None) -> Gathered:
    """The text, in a folder within `folder`; this process remembers it until it is taken."""
    question = _question(text)
    if question not in _remembered:
        _remembered[question] = _gather(text, folder, workers)
    return _remembered[question]


@contextmanager
def taken(text: Text, folder: Path, *, workers: int | None = None) -> Iterator[Gathered]:
    """The text that is remembered, or read now; removed afterwards."""
    found = _remembered.pop(_question(text), None) or _gather(text, folder, workers)
    try:
        yield found
    finally:
        found.remove()


def forget(text: Text) -> None:
    """Removes what is remembered of a text that is not needed any more."""
    found = _remembered.pop(_question(text), None)
    if found:
        found.remove()


@contextmanager
def no_search_for_cycles() -> Iterator[None]:
    """Millions of small objects, which form no cycles, would be looked through again and again."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _question(text: Text) -> str:
    """What the pairs depend on; files that change are read again."""
    states = []
    for document in documents(text.data, _reading(text, BadInput()), format=text.format):
        for path in document.paths:
            state = path.stat()
            states.append([document.format.name, str(path), state.st_size, state.st_mtime_ns])
    return json.dumps([states, text.languages, text.format, text.columns, text.encoding, text.skip_bad])


def _reading(text: Text, bad: BadInput) -> Reading:
    return Reading(text.languages, bad, text.columns, text.encoding)


def _gather(text: Text, folder: Path, workers: int | None) -> Gathered:
    found = documents(text.data, _reading(text, BadInput()), format=text.format)
    size = sum(path.stat().st_size for document in found for path in document.paths)
    workers = min(workers or os.cpu_count() or 1, len(found)) if size > _SMALL else 1
    try:
        folder.mkdir(parents=True, exist_ok=True)
        sweep(folder)
        made = Gathered(Path(tempfile.mkdtemp(prefix=f".{owner()}.", suffix=".partial", dir=folder)))
    except OSError as error:
        raise CorpusError(f"{folder}: Regard cannot write to this folder: {error.strerror}.\n  {_ROOM}") from None
    orders = [
        _Order(document.format.name, document.paths, str(made.folder / f"{number}.chunks"), text.languages,
               text.columns, text.encoding, text.skip_bad, CHUNK)
        for number, document in enumerate(found)
    ]  # fmt: skip
    try:
        with no_search_for_cycles(), _processes(workers) as run:
            for pieces, bad in run(_read, orders):
                made.pieces += pieces
                made.bad.add(bad)
    except BaseException as error:
        made.remove()
        if isinstance(error, OSError):
            raise CorpusError(
                f"{folder}: Regard cannot store text in this folder: {error.strerror}.\n  {_ROOM}"
            ) from None
        if isinstance(error, BrokenProcessPool):
            raise CorpusError(f"{folder}: a process that read the corpus was killed.\n  {_MEMORY}") from None
        raise
    return made


class _Order(NamedTuple):
    """What a process is asked to read."""

    format: str
    paths: tuple[Path, ...]
    file: str  # where chunks go
    languages: Languages
    columns: Columns | None
    encoding: str | None
    skip_bad: bool
    chunk: int


def _read(order: _Order) -> tuple[list[Piece], BadInput]:
    """Writes the pairs of a document in chunks."""
    gc.disable()
    bad = BadInput(skip=order.skip_bad)
    pairs = by_name(order.format).read(order.paths, Reading(order.languages, bad, order.columns, order.encoding))
    with open(order.file, "wb") as file:  # noqa: PTH123
        pieces = [_written(chunk, order.file, file) for chunk in chunks(pairs, size=order.chunk)]
    return pieces, bad


def _statistics(piece: Piece) -> tuple[SideStatistics, SideStatistics]:
    gc.disable()
    sides = (SideStatistics(), SideStatistics())
    for number, side in enumerate(sides):
        text, lengths = piece.side(number)
        side.add(apart(text, lengths), character_counts(text))
    return sides


def _sizes_only(piece: Piece) -> tuple[SideStatistics, SideStatistics]:
    """The same without the strings."""
    sides = _statistics(piece)
    for side in sides:
        side.strings.clear()
    return sides


_Run = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]


@contextmanager
def _processes(workers: int | None) -> Iterator[_Run]:
    """Something like `map`: by other processes, or by this one where that is enough; results come in order."""
    workers = workers or os.cpu_count() or 1
    if workers == 1:
        yield map
        return
    pool: Executor
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        try:
            yield pool.map
        finally:
            pool.shutdown(cancel_futures=True)
