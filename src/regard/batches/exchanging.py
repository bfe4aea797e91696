"""Sources exchanged between examples, to measure what a source is worth to a model.

Each example gets the source that follows its own in the order of length and ids, so a source of nearly the same length.
What a model loses by the exchange is what the content of the source told it. The order of the examples does not matter.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from regard.batches.corpus import StoredCorpus, Stream
from regard.batches.fingerprints import numbers_of

SOURCE = "source"


def partners(sources: Sequence[Sequence[int]]) -> list[int] | None:
    """For each source, the number of another one that differs from it; None where all are the same."""
    order = sorted(range(len(sources)), key=lambda number: (len(sources[number]), list(sources[number]), number))
    keys = [tuple(sources[number]) for number in order]
    if len(set(keys)) < 2:
        return None
    found = [0] * len(order)
    following = next(place for place, key in enumerate(keys) if key != keys[-1])  # after the last comes the first
    for place in reversed(range(len(order))):
        if place + 1 < len(order) and keys[place + 1] != keys[place]:
            following = place + 1
        found[order[place]] = order[following]
    return found


def exchanged(corpus: StoredCorpus) -> StoredCorpus | None:
    """The corpus with the sources exchanged; None where there is nothing to exchange."""
    stream = corpus.streams.get(SOURCE)
    if stream is None or len(corpus.streams) < 2:
        return None
    found = partners([_ids(stream, number) for number in range(len(corpus))])
    if found is None:
        return None
    numbers: NDArray[np.int64] = np.array(found, dtype=np.int64)
    taken = corpus.take(np.arange(len(corpus)))
    taken.streams = corpus.streams | {SOURCE: Stream(stream.tokens, stream.starts[numbers], stream.lengths[numbers])}
    return taken


def _ids(stream: Stream, number: int) -> list[int]:
    """The ids of a sentence, or a number for each vector."""
    if stream.features:
        return [int(each) for each in numbers_of(stream.vectors(number))]
    return stream.sentence(number)


def spread(corpus: StoredCorpus, count: int) -> StoredCorpus:
    """At most `count` examples, evenly spread over the corpus."""
    if len(corpus) <= count:
        return corpus
    return corpus.take(np.arange(count, dtype=np.int64) * len(corpus) // count)
