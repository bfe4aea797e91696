"""Preparation: text files to a stored corpus, once. Gathered, cleaned and tokenised on all cores, stored in order.

The corpus lies in a folder named by a hash of everything that it depends on: the names and the bytes of the files, how
they are read and cleaned, and the tokenisers. The same question finds the same folder; another one never a wrong one.
"""

from __future__ import annotations

import gc
import json
import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from hashlib import blake2b
from itertools import chain
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.batches.corpus import FORMAT, CorpusWriter, Ids, StoredCorpus, sweep
from regard.batches.fingerprints import fingerprints, first_of_each
from regard.batches.gathering import INLINE, Gathered, Piece, forget, no_search_for_cycles, taken
from regard.caches import make_writable
from regard.errors import CorpusError
from regard.settings import Settings
from regard.text.bad_input import BadInput
from regard.text.cleaning import CleaningReport, CleaningSettings, Reason, clean
from regard.text.corpus import documents, read
from regard.text.formats import Reading
from regard.text.pairs import Chunk, Columns, Languages, Pair
from regard.text.tally import PLACES, Tally
from regard.tokens import Tokenisers

_AHEAD = 8  # chunks that wait for each process
_ROOM = "Check its permissions and the free space on its disk."
_MEMORY = "The machine may have run out of memory. Close other programs, or use fewer processes."

Progress = Callable[[int, int], None]
"""Receives how many pairs were looked at so far, and how many there are."""


class Source(Settings):
    """Where sentence pairs come from, and how they are read and cleaned."""

    data: tuple[str, ...]
    source: str  # language codes
    target: str
    format: str | None = None
    columns: Columns | None = None
    encoding: str | None = None
    skip_bad: bool = False
    cleaning: CleaningSettings = CleaningSettings()
    max_tokens: int = 1024  # a side, its end token included

    @property
    def languages(self) -> Languages:
        """The two languages."""
        return Languages(self.source, self.target)

    def pairs(self, bad: BadInput | None = None) -> Iterator[Pair]:
        """The pairs as they stand in the files."""
        bad = bad or BadInput(skip=self.skip_bad)
        return read(
            self.data, self.languages, format=self.format, columns=self.columns, encoding=self.encoding, bad=bad
        )


def prepare(
    source: Source,
    tokenisers: Tokenisers,
    folder: Path,
    *,
    workers: int | None = None,
    progress: Progress | None = None,
) -> StoredCorpus:
    """The stored corpus of `source` in a sub-folder of `folder`: the one that is there, or a new one."""
    place = folder / _key(source, tokenisers)
    sweep(folder)
    if place.exists():
        forget(source)
        return StoredCorpus(place)
    make_writable(folder)
    with taken(source, folder, workers=workers) as text:
        _store(source, tokenisers, text, place, workers or os.cpu_count() or 1, progress)
    return StoredCorpus(place)


def _store(
    source: Source, tokenisers: Tokenisers, text: Gathered, place: Path, workers: int, progress: Progress | None
) -> None:
    folder, bad, total = place.parent, text.bad, text.pairs
    writer = CorpusWriter(
        place, streams=("source", "target"), vocabulary=max(tokenisers.source.size, tokenisers.target.size)
    )
    try:
        stored = _Stored(writer)
        for chunk in _encoded(source, tokenisers, text, workers):
            writer.add("source", *chunk.source)
            writer.add("target", *chunk.target)
            stored.add(chunk)
            if progress:
                progress(stored.report.came_in, total)
        keep = stored.without_duplicates() if source.cleaning.drop_duplicates else None
        if not stored.report.kept:
            raise CorpusError(_nothing_left(source, stored.report, bad))
        writer.finish(_description(source, tokenisers, stored.report, bad), keep=keep)
    except BaseException as error:
        writer.discard()
        if isinstance(error, OSError):
            raise CorpusError(
                f"{folder}: Regard cannot store the corpus in this folder: {error.strerror}.\n  {_ROOM}"
            ) from None
        if isinstance(error, BrokenProcessPool):
            raise CorpusError(f"{folder}: a process that prepared the corpus was killed.\n  {_MEMORY}") from None
        raise


class _Encoded(NamedTuple):
    """Encoded pairs of one file."""

    source: tuple[Ids, NDArray[np.int32]]
    target: tuple[Ids, NDArray[np.int32]]
    fingerprints: NDArray[np.uint64]
    path: str
    lines: NDArray[np.int64]
    report: CleaningReport


class _Stored:
    """What is remembered of the chunks that were stored: sixteen bytes a pair, on the disk."""

    def __init__(self, writer: CorpusWriter) -> None:
        self.report = CleaningReport()
        self._fingerprints = writer.scratch("fingerprints", np.dtype(np.uint64))
        self._lines = writer.scratch("lines", np.dtype(np.int64))
        self._paths: list[tuple[int, str]] = []  # up to which pair each chunk's file reaches

    def add(self, chunk: _Encoded) -> None:
        self.report.add(chunk.report)
        self._fingerprints.append(chunk.fingerprints)
        self._lines.append(chunk.lines)
        self._paths.append((self.report.kept, chunk.path))

    def without_duplicates(self) -> NDArray[np.bool_]:
        """Marks the first pair of each fingerprint; the others are counted as dropped."""
        keep, lines = first_of_each(self._fingerprints.close()), self._lines.close()
        repeated = np.flatnonzero(~keep)
        tally = Tally(count=len(repeated))
        for number in repeated[:PLACES]:
            path = next(path for end, path in self._paths if number < end)
            tally.places.append((path, int(lines[number])))
        if len(repeated):
            self.report.dropped[Reason.DUPLICATE] = tally
            self.report.kept -= len(repeated)
        return keep


def _encoded(source: Source, tokenisers: Tokenisers, text: Gathered, workers: int) -> Iterator[_Encoded]:
    """The chunks of the corpus in order; those of a large one are encoded by other processes."""
    if workers == 1 or len(text.pieces) <= INLINE:
        encoder = _Encoder(tokenisers, source)
        yield from (encoder.encode(piece.chunk()) for piece in text.pieces)
        return
    setup = (tokenisers.files(), source)
    with no_search_for_cycles(), ProcessPoolExecutor(workers, get_context("spawn"), _start_worker, setup) as pool:
        waiting: deque[Future[_Encoded]] = deque()
        try:
            for piece in text.pieces:
                waiting.append(pool.submit(_work, piece))
                if len(waiting) > _AHEAD * workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            pool.shutdown(cancel_futures=True)


class _Encoder:
    """Cleans and encodes chunks."""

    def __init__(self, tokenisers: Tokenisers, source: Source) -> None:
        self.tokenisers, self.cleaning, self.max_tokens = tokenisers, source.cleaning, source.max_tokens

    def encode(self, raw: Chunk) -> _Encoded:
        (source_texts, target_texts, path, lines), report = clean(raw, self.cleaning)
        sources = self.tokenisers.source.encode_batch(source_texts)
        targets = self.tokenisers.target.encode_batch(target_texts)
        if max(map(len, chain(sources, targets)), default=0) >= self.max_tokens:
            sources, targets, lines = self._short_enough(sources, targets, lines, path, report)
        source = _closed(sources, self.tokenisers.source.end)
        target = _closed(targets, self.tokenisers.target.end)
        marks = fingerprints(*source, salt=1) ^ fingerprints(*target, salt=2)
        return _Encoded(source, target, marks, path, np.array(lines, dtype=np.int64), report)

    def _short_enough(
        self, sources: list[list[int]], targets: list[list[int]], lines: list[int], path: str, report: CleaningReport
    ) -> tuple[list[list[int]], list[list[int]], list[int]]:
        """Without the pairs of too many tokens, which are counted."""
        fits = [max(len(a), len(b)) < self.max_tokens for a, b in zip(sources, targets, strict=True)]
        for line, fit in zip(lines, fits, strict=True):
            if not fit:
                report.drop(Reason.TOO_MANY_TOKENS, path, line)
        report.kept = sum(fits)
        chosen = [n for n, fit in enumerate(fits) if fit]
        return [sources[n] for n in chosen], [targets[n] for n in chosen], [lines[n] for n in chosen]


def _closed(sentences: Sequence[Sequence[int]], end: int) -> tuple[Ids, NDArray[np.int32]]:
    """All ids in one array, each sentence closed by the end token, and the lengths."""
    lengths = np.fromiter(map(len, sentences), dtype=np.int32, count=len(sentences))
    ends = lengths.cumsum(dtype=np.int64)
    tokens = np.fromiter(chain.from_iterable(sentences), np.uint32, int(ends[-1]) if len(ends) else 0)
    return np.insert(tokens, ends, end), lengths + np.int32(1)


_encoder: _Encoder | None = None


def _start_worker(files: dict[str, bytes], source: Source) -> None:
    """Sets a worker process up, once."""
    global _encoder
    gc.disable()
    _encoder = _Encoder(Tokenisers.from_files(files), source)


def _work(piece: Piece) -> _Encoded:
    assert _encoder is not None
    return _encoder.encode(piece.chunk())


def _key(source: Source, tokenisers: Tokenisers) -> str:
    """A name for the answer to exactly this question, names of files included: they can say how files are read."""
    reading = Reading(source.languages, BadInput(), source.columns, source.encoding)
    files = [
        [document.format.name, *((path.name, _hash_of_file(path)) for path in document.paths)]
        for document in documents(source.data, reading, format=source.format)
    ]
    question = {
        "format": FORMAT,
        "files": files,
        "source": source.model_dump(mode="json", exclude={"data"} if source.encoding else {"data", "encoding"}),
        "tokenisers": tokenisers.hash,
    }
    return blake2b(json.dumps(question, sort_keys=True).encode(), digest_size=12).hexdigest()


def _hash_of_file(path: Path) -> str:
    digest = blake2b(digest_size=16)
    try:
        with path.open("rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
    except OSError as error:
        raise CorpusError(f"{path}: this file cannot be read: {error.strerror}.\n  Check its permissions.") from None
    return digest.hexdigest()


def _description(source: Source, tokenisers: Tokenisers, report: CleaningReport, bad: BadInput) -> dict[str, Any]:
    return {
        "begin": tokenisers.target.begin,
        "end": tokenisers.target.end,
        "tokenisers": tokenisers.hash,
        "source": source.table(),
        "kept": report.kept,
        "dropped": {reason.name.lower(): tally.count for reason, tally in report.dropped.items()},
        "changed": {change.name.lower(): tally.count for change, tally in report.changed.items()},
        "bad": {problem.name.lower(): tally.count for problem, tally in bad.problems.items()},
        "passed_over": {reason.name.lower(): tally.count for reason, tally in bad.not_pairs.items()},
        "summary": [*report.summary(), *bad.summary()],
    }


def _nothing_left(source: Source, report: CleaningReport, bad: BadInput) -> str:
    reasons = "\n".join(f"  {line}" for line in [*report.summary(), *bad.summary()])
    return f"{', '.join(source.data)}: no sentence pair is left after cleaning.\n{reasons}"
