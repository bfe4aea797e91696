"""Fingerprints: 64 bits that stand for a sentence of ids, many at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.batches.shuffle import mixed

_CLASS = 1 << 20


def numbers_of(tokens: NDArray[Any]) -> NDArray[np.uint64]:
    """A number for each token: ids themselves, and of vectors 64 bits that depend on every number in them."""
    if tokens.ndim == 1:
        return tokens.astype(np.uint64)
    bits = np.ascontiguousarray(tokens, dtype=np.float32).view(np.uint32).astype(np.uint64)
    places = np.arange(tokens.shape[1], dtype=np.uint64) << np.uint64(32)
    found: NDArray[np.uint64] = mixed(bits + places).sum(axis=1, dtype=np.uint64) >> np.uint64(32)
    return found


def fingerprints(tokens: NDArray[Any], lengths: NDArray[np.int32], *, salt: int) -> NDArray[np.uint64]:
    """64 bits for each sentence: a sum over its ids, each mixed with its position."""
    if not len(lengths):
        return np.zeros(0, np.uint64)
    ends = lengths.cumsum(dtype=np.int64)
    starts = ends - lengths
    positions = np.arange(len(tokens)) - np.repeat(starts, lengths)
    keys = (numbers_of(tokens) << np.uint64(32)) + (positions.astype(np.uint64) << np.uint64(2)) + np.uint64(salt)
    return mixed(np.add.reduceat(mixed(keys), starts) + np.uint64(salt))


def first_of_each(fingerprints: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """True where a value stands for the first time. Values are compared class by class, so that memory stays small."""
    keep = np.zeros(len(fingerprints), dtype=np.bool_)
    classes = 1 + len(fingerprints) // _CLASS
    for number in range(classes):
        members = [
            first + np.flatnonzero(fingerprints[first : first + _CLASS] % np.uint64(classes) == number)
            for first in range(0, len(fingerprints), _CLASS)
        ]
        places = np.concatenate([*members, np.zeros(0, np.int64)])
        keep[places[np.unique(fingerprints[places], return_index=True)[1]]] = True
    return keep
