"""Examples of one kind to a stored corpus, once: documents, texts with labels, or vectors.

The corpus lies in a folder named by a hash of everything that it depends on, as that of sentence pairs does
(`preparation.py`).
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.batches.corpus import FORMAT, CorpusWriter, Ids, StoredCorpus, sweep
from regard.caches import make_writable
from regard.errors import CorpusError

_CHUNK = 4096

Example = Mapping[str, Sequence[int] | NDArray[Any]]
"""The ids, or the vectors [T, F], of each stream, as they are stored."""


def stored(
    folder: Path,
    examples: Callable[[], Iterable[Example]],
    *,
    streams: Sequence[str],
    vocabulary: int,
    question: Mapping[str, Any],
    describe: Callable[[], Mapping[str, Any]],
    progress: Callable[[int], None] | None = None,
    features: Mapping[str, int] | None = None,
) -> StoredCorpus:
    """The stored corpus of these examples in a sub-folder of `folder`: the one that is there, or a new one.

    `question` is what they depend on; `describe` is asked when all have been read. `features` are the streams of
    vectors, and the size of these.
    """
    key = json.dumps({"format": FORMAT, "streams": list(streams), **question}, sort_keys=True, default=str)
    place = folder / blake2b(key.encode(), digest_size=12).hexdigest()
    sweep(folder)
    if place.exists():
        return StoredCorpus(place)
    make_writable(folder)
    writer = CorpusWriter(place, streams=streams, vocabulary=vocabulary, features=features)
    try:
        count = 0
        for chunk in _chunks(examples()):
            for name in streams:
                writer.add(name, *_flat([example[name] for example in chunk]))
            count += len(chunk)
            if progress:
                progress(count)
        writer.finish(describe())
    except BaseException as error:
        writer.discard()
        if isinstance(error, OSError):
            raise CorpusError(
                f"{folder}: Regard cannot store the corpus in this folder: {error.strerror}.\n"
                "  Check its permissions and the free space on its disk."
            ) from None
        raise
    return StoredCorpus(place)


def hashes(paths: Iterable[Path]) -> list[tuple[str, str]]:
    """The name of each file and a hash of its bytes."""
    found = []
    for path in paths:
        digest = blake2b(digest_size=16)
        with path.open("rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
        found.append((path.name, digest.hexdigest()))
    return found


def encoded(
    texts: Iterable[str], encode_batch: Callable[[list[str], int], list[list[int]]]
) -> Iterator[tuple[str, list[int]]]:
    """Each text with its ids, encoded many at a time."""
    threads = os.cpu_count() or 1
    for chunk in _chunks(texts):
        yield from zip(chunk, encode_batch(chunk, threads), strict=True)


def _chunks(items: Iterable[Any]) -> Iterator[list[Any]]:
    waiting = iter(items)
    while chunk := list(islice(waiting, _CHUNK)):
        yield chunk


def _flat(sentences: Sequence[Any]) -> tuple[Ids, NDArray[np.int32]]:
    lengths = np.fromiter(map(len, sentences), dtype=np.int32, count=len(sentences))
    if isinstance(sentences[0], np.ndarray):
        return np.concatenate(sentences), lengths
    return np.fromiter(chain.from_iterable(sentences), np.uint32, int(lengths.sum())), lengths
