"""The stored corpus: ids on disk as plain arrays, mapped into memory, however large it is.

corpus.json             what it was made from, counts, and the size of each file below
source.tokens.npy       the ids of all sentences one after the other, each closed by the end token (uint16 or uint32)
source.starts.npy       where each sentence starts (int64)
source.lengths.npy      how many ids it has, the end token among them (int32)
target.*                the same for the other stream; a task names the streams

A stream may hold vectors in the place of ids: then `tokens` is [vectors, features] (float32), and nothing is closed.

A folder is written under another name and moved into place when it is whole, so one that is there is complete.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from copy import copy
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from regard.errors import CorpusError

DESCRIPTION = "corpus.json"
FORMAT = 1
_TOKENS = ".tokens.npy"
_HEADER = 128  # bytes; enough for every array of one or two dimensions, and what numpy writes for one
_BLOCK = 1 << 20
_SCRATCH = "scratch"
_ABANDONED = 7 * 24 * 3600  # seconds without a write, after which an unfinished corpus of another machine is removed

Ids = NDArray[np.unsignedinteger[Any]]
Numbers = NDArray[np.int64]


class Stream(NamedTuple):
    """The sentences of one stream."""

    tokens: Ids
    starts: Numbers
    lengths: NDArray[np.int32]

    @property
    def features(self) -> int:
        """The numbers of each vector; 0 where the stream holds ids."""
        return int(self.tokens.shape[1]) if self.tokens.ndim == 2 else 0

    def vectors(self, number: int) -> NDArray[np.float32]:
        """[T, F] the vectors of one example."""
        start = int(self.starts[number])
        found: NDArray[Any] = self.tokens[start : start + int(self.lengths[number])]
        return found.astype(np.float32)

    def sentence(self, number: int) -> list[int]:
        """The ids of one sentence, without the end token."""
        start = int(self.starts[number])
        return [int(token) for token in self.tokens[start : start + int(self.lengths[number]) - 1]]


class StoredCorpus:
    """Examples as ids, in the order in which they were read: for each, a sentence in every stream."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.description = _read_description(folder)
        names = [name.removesuffix(_TOKENS) for name in self.description["files"] if name.endswith(_TOKENS)]
        self.streams = {name: self._stream(name) for name in names}

    def __len__(self) -> int:
        return len(next(iter(self.streams.values())).lengths)

    def take(self, numbers: Numbers) -> StoredCorpus:
        """The corpus of these examples alone."""
        taken = copy(self)
        taken.streams = {
            name: Stream(stream.tokens, stream.starts[numbers], stream.lengths[numbers])
            for name, stream in self.streams.items()
        }
        return taken

    def in_epoch(self, epoch: int) -> StoredCorpus:  # noqa: ARG002  stretches of documents differ
        """The corpus as it is in an epoch: for most, the same in all."""
        return self

    @property
    def begin(self) -> int:
        """What the decoder of this corpus starts from."""
        return int(self.description["begin"])

    @property
    def features(self) -> dict[str, int]:
        """The streams of vectors, and the numbers of each vector."""
        return {name: stream.features for name, stream in self.streams.items() if stream.features}

    @property
    def longest(self) -> int:
        """The ids of the longest sentence."""
        return max(int(stream.lengths.max(initial=0)) for stream in self.streams.values())

    def _stream(self, name: str) -> Stream:
        arrays = [np.load(self.folder / f"{name}.{part}.npy", mmap_mode="r") for part in Stream._fields]
        return Stream(*arrays)


class CorpusWriter:
    """Writes a stored corpus, chunk after chunk, into `folder`; nothing is there before `finish`."""

    def __init__(
        self, folder: Path, *, streams: Sequence[str], vocabulary: int, features: Mapping[str, int] | None = None
    ) -> None:
        """`features` are the streams that hold vectors, and the size of these."""
        folder.parent.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._partial = Path(tempfile.mkdtemp(prefix=f".{owner()}.", suffix=".partial", dir=folder.parent))
        (self._partial / _SCRATCH).mkdir()
        self._scratch: list[GrowingArray] = []
        ids, floats, widths = np.dtype(np.uint16 if vocabulary <= 2**16 else np.uint32), np.dtype("<f4"), features or {}
        self._tokens = {
            name: GrowingArray(
                self._partial / f"{name}{_TOKENS}", floats if name in widths else ids, width=widths.get(name)
            )
            for name in streams
        }
        lengths = np.dtype(np.int32)
        self._lengths = {name: GrowingArray(self._partial / f"{name}.all.npy", lengths) for name in streams}

    def add(self, stream: str, tokens: Ids, lengths: NDArray[np.int32]) -> None:
        """The next sentences of one stream, all of their ids in one array, each closed by the end token."""
        self._tokens[stream].append(tokens)
        self._lengths[stream].append(lengths)

    def scratch(self, name: str, dtype: np.dtype[Any]) -> GrowingArray:
        """An array on the disk that is not part of the corpus, and goes when it is finished."""
        self._scratch.append(GrowingArray(self._partial / _SCRATCH / f"{name}.npy", dtype))
        return self._scratch[-1]

    def finish(self, description: Mapping[str, Any], *, keep: NDArray[np.bool_] | None = None) -> None:
        """Moves the corpus into place. Of the pairs that were added, those that `keep` marks belong to it.

        Where another process was quicker, its corpus stays, since others may be reading it already.
        """
        for name, tokens in self._tokens.items():
            tokens.close()
            self._index(name, keep)
        for array in self._scratch:
            array.close()
        shutil.rmtree(self._partial / _SCRATCH)
        files = {path.name: path.stat().st_size for path in sorted(self._partial.iterdir())}
        table = {"format": FORMAT, **description, "files": files}
        (self._partial / DESCRIPTION).write_text(json.dumps(table, indent=2, ensure_ascii=False) + "\n", "utf-8")
        for path in self._partial.iterdir():
            with path.open("rb") as written:
                os.fsync(written.fileno())
        self._partial.chmod(0o755)
        try:
            self._partial.replace(self._folder)
        except OSError:
            if not (self._folder / DESCRIPTION).exists():
                raise
            shutil.rmtree(self._partial)

    def discard(self) -> None:
        """Leaves nothing behind."""
        for array in (*self._tokens.values(), *self._lengths.values(), *self._scratch):
            array.discard()
        shutil.rmtree(self._partial, ignore_errors=True)

    def _index(self, stream: str, keep: NDArray[np.bool_] | None) -> None:
        """Where the sentences that belong to the corpus start, and their lengths, in blocks of bounded size."""
        all_lengths = self._lengths[stream].close()
        starts = GrowingArray(self._partial / f"{stream}.starts.npy", np.dtype(np.int64))
        lengths = GrowingArray(self._partial / f"{stream}.lengths.npy", np.dtype(np.int32))
        end = 0
        for first in range(0, len(all_lengths), _BLOCK):
            block = np.array(all_lengths[first : first + _BLOCK])
            chosen = slice(None) if keep is None else keep[first : first + _BLOCK]
            ends = end + block.cumsum(dtype=np.int64)
            starts.append((ends - block)[chosen])
            lengths.append(block[chosen])
            end = int(ends[-1])
        starts.close()
        lengths.close()
        (self._partial / f"{stream}.all.npy").unlink()


class GrowingArray:
    """A .npy file that is written without knowing how long it will be: room for the header, then the data."""

    def __init__(self, path: Path, dtype: np.dtype[Any], *, width: int | None = None) -> None:
        self._path, self._dtype, self._width, self._count = path, dtype, width, 0
        self._file = path.open("wb")
        self._file.write(b"\0" * _HEADER)

    def append(self, values: NDArray[Any]) -> None:
        """Writes more values at the end."""
        self._file.write(np.ascontiguousarray(values, dtype=self._dtype).data)
        self._count += len(values)

    def close(self) -> NDArray[Any]:
        """Writes the header, and maps the array."""
        if not self._file.closed:
            size = (self._count,) if self._width is None else (self._count, self._width)
            shape = {"descr": npy.dtype_to_descr(self._dtype), "fortran_order": False, "shape": size}
            header = BytesIO()
            npy.write_array_header_1_0(header, shape)
            assert len(header.getvalue()) == _HEADER
            self._file.seek(0)
            self._file.write(header.getvalue())
            self._file.close()
        array: NDArray[Any] = np.load(self._path, mmap_mode="r")
        return array

    def discard(self) -> None:
        """Leaves the file as it is, whatever state that is."""
        with suppress(OSError):  # of a disk that is full
            self._file.close()


def sweep(folder: Path) -> None:
    """Removes unfinished corpora in `folder` whose writer has ended.

    Their names say machine and process, since machines may share the folder: whether a process of another machine still
    runs cannot be asked, so its corpus goes when nothing was written to it for a week.
    """
    for partial in folder.glob(".*.partial"):
        machine, _, process = partial.name.split(".")[1].rpartition("+")
        if not process.isdecimal():
            continue
        if not _runs(int(process)) if machine == _machine() else _is_abandoned(partial):
            shutil.rmtree(partial, ignore_errors=True)


def owner() -> str:
    """The name of this process among those of all machines, as a part of a file's name."""
    return f"{_machine()}+{os.getpid()}"


def _machine() -> str:
    """The name of this machine in a file's name."""
    return re.sub(r"[^A-Za-z0-9-]", "_", platform.node()) or "unknown"


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _is_abandoned(partial: Path) -> bool:
    try:
        newest = max(path.stat().st_mtime for path in (partial, *partial.rglob("*")))
    except FileNotFoundError:  # it has just been finished
        return False
    return time.time() - newest > _ABANDONED


def store(
    folder: Path, streams: Mapping[str, Sequence[Sequence[int]]], *, begin: int, end: int, vocabulary: int
) -> StoredCorpus:
    """Stores sentences of ids that are in memory, equally many in each stream."""
    writer = CorpusWriter(folder, streams=list(streams), vocabulary=vocabulary)
    for name, sentences in streams.items():
        closed = [[*sentence, end] for sentence in sentences]
        tokens = np.array([token for sentence in closed for token in sentence], dtype=np.uint32)
        writer.add(name, tokens, np.array([len(sentence) for sentence in closed], dtype=np.int32))
    writer.finish({"begin": begin, "end": end})
    return StoredCorpus(folder)


def _read_description(folder: Path) -> dict[str, Any]:
    path = folder / DESCRIPTION
    again = f"Delete {folder} and run the same command again: Regard prepares the corpus again."
    try:
        table = json.loads(path.read_bytes())
        sizes = {folder / name: size for name, size in table["files"].items()}
    except FileNotFoundError:
        raise CorpusError(f"{folder}: this is not a stored corpus: {DESCRIPTION} is missing.\n  {again}") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise CorpusError(f"{path}: this file is damaged.\n  {again}") from None
    if table.get("format") != FORMAT:
        raise CorpusError(
            f"{path}: its format is {table.get('format')}, but this version of Regard reads {FORMAT}.\n  {again}"
        )
    for file, size in sizes.items():
        if not file.is_file() or file.stat().st_size != size:
            raise CorpusError(f"{file}: this file is missing or its size has changed.\n  {again}")
    assert isinstance(table, dict)
    return table
