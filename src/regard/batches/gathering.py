"""Gathering: the text of a corpus, read once, for everything that looks at all of it before training.

Documents are read side by side, each by a process of its own. What they hold is written to a temporary folder in chunks
that any process can load: the statistics, the tokeniser's sample and the preparation work on these, so no file is
decompressed or parsed twice.
"""

from __future__ import annotations

import gc
import json
import os
import pickle
import shutil
import tempfile
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from regard.batches.corpus import owner, sweep
from regard.errors import CorpusError
from regard.text.bad_input import BadInput
from regard.text.corpus import documents
from regard.text.formats import Reading, by_name
from regard.text.pairs import Chunk, Languages, chunks
from regard.text.statistics import SideStatistics

CHUNK = 8192  # pairs
INLINE = 4  # a corpus of so many chunks is not worth other processes
_SMALL = 4 << 20  # bytes of files that are not worth other processes
_ROOM = "Check its permissions and the free space on its disk."
_MEMORY = "The machine may have run out of memory. Close other programs."

GivenT = TypeVar("GivenT")
ResultT = TypeVar("ResultT")


class Text(Protocol):
    """Which files are read, and how: the part of a `Source` that decides about pairs."""

    @property
    def data(self) -> tuple[str, ...]: ...  # noqa: D102

    @property
    def languages(self) -> Languages: ...  # noqa: D102

    @property
    def format(self) -> str | None: ...  # noqa: D102

    @property
    def columns(self) -> tuple[int, int] | None: ...  # noqa: D102

    @property
    def skip_bad(self) -> bool: ...  # noqa: D102


class Piece(NamedTuple):
    """Where a chunk lies."""

    file: str
    start: int
    size: int
    pairs: int

    def chunk(self) -> Chunk:
        """The chunk itself."""
        with open(self.file, "rb") as file:  # noqa: PTH123
            file.seek(self.start)
            parcel = _Parcel(*pickle.loads(file.read(self.size)))  # noqa: S301  written by this program a moment ago
        lines = parcel.lines.tolist()
        return Chunk(_apart(*parcel.sources), _apart(*parcel.targets), parcel.path, lines)


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

    def sources(self) -> Iterator[str]:
        """The texts of the source side."""
        return (text for piece in self.pieces for text in piece.chunk().sources)

    def targets(self) -> Iterator[str]:
        """The texts of the target side."""
        return (text for piece in self.pieces for text in piece.chunk().targets)

    def statistics(self, *, workers: int | None = None) -> tuple[SideStatistics, SideStatistics]:
        """What both sides are like."""
        source, target = SideStatistics(), SideStatistics()
        with _processes(workers if len(self.pieces) > INLINE else 1) as run:
            for of_source, of_target in run(_statistics, self.pieces):
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
    """What the pairs depend on; files that change are read anew."""
    states = []
    for document in documents(text.data, _reading(text, BadInput()), format=text.format):
        for path in document.paths:
            state = path.stat()
            states.append([document.format.name, str(path), state.st_size, state.st_mtime_ns])
    return json.dumps([states, text.languages, text.format, text.columns, text.skip_bad])


def _reading(text: Text, bad: BadInput) -> Reading:
    return Reading(text.languages, bad, text.columns)


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
               text.columns, text.skip_bad, CHUNK)
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
    columns: tuple[int, int] | None
    skip_bad: bool
    chunk: int


class _Parcel(NamedTuple):
    """A chunk as few large objects, which travel faster than many small ones."""

    sources: tuple[str, NDArray[np.int32]]  # all texts as one, and their lengths
    targets: tuple[str, NDArray[np.int32]]
    path: str
    lines: NDArray[np.int64]


def _read(order: _Order) -> tuple[list[Piece], BadInput]:
    """Writes the pairs of a document in chunks."""
    gc.disable()
    bad, pieces = BadInput(skip=order.skip_bad), []
    pairs = by_name(order.format).read(order.paths, Reading(order.languages, bad, order.columns))
    with open(order.file, "wb") as file:  # noqa: PTH123
        for chunk in chunks(pairs, size=order.chunk):
            lines = np.array(chunk.lines, dtype=np.int64)
            parcel = _Parcel(_together(chunk.sources), _together(chunk.targets), chunk.path, lines)
            start, packed = file.tell(), pickle.dumps(tuple(parcel), protocol=5)
            file.write(packed)
            pieces.append(Piece(order.file, start, len(packed), len(lines)))
    return pieces, bad


def _statistics(piece: Piece) -> tuple[SideStatistics, SideStatistics]:
    chunk, sides = piece.chunk(), (SideStatistics(), SideStatistics())
    for side, texts in zip(sides, (chunk.sources, chunk.targets), strict=True):
        side.add(texts, Counter("".join(texts)))
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


def _together(texts: Sequence[str]) -> tuple[str, NDArray[np.int32]]:
    return "".join(texts), np.fromiter(map(len, texts), dtype=np.int32, count=len(texts))


def _apart(text: str, lengths: NDArray[np.int32]) -> list[str]:
    ends = lengths.cumsum(dtype=np.int64).tolist()
    return [text[start:end] for start, end in zip([0, *ends], ends, strict=False)]
