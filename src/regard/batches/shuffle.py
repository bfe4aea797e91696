"""A shuffle that can be entered anywhere: where each of N things goes, computed for any of them alone.

A Feistel network is a bijection on the numbers of an even count of bits, whatever its round function is. Numbers that
fall outside of N go through it again until they fall inside. So an epoch's order needs no memory and no replay,
and is the same on every machine.
"""

from __future__ import annotations

from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

_ROUNDS = 6
_MIX_1, _MIX_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)

Numbers = NDArray[np.int64]


def shuffled(places: Numbers, *, count: int, key: tuple[int | str, ...]) -> Numbers:
    """Which of `count` things stands at each of these places, in the order that belongs to `key`."""
    assert count > 0
    half = np.uint64(max(1, ((count - 1).bit_length() + 1) // 2))
    keys = np.frombuffer(blake2b(repr(key).encode(), digest_size=8 * _ROUNDS).digest(), dtype="<u8")
    numbers = _feistel(places.astype(np.uint64), half, keys)
    outside = numbers >= count
    while outside.any():
        numbers[outside] = _feistel(numbers[outside], half, keys)
        outside = numbers >= count
    return numbers.astype(np.int64)


def _feistel(numbers: NDArray[np.uint64], half: np.uint64, keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    mask = (np.uint64(1) << half) - np.uint64(1)
    left, right = numbers >> half, numbers & mask
    for key in keys:
        left, right = right, left ^ (mixed(right + key) & mask)
    return (left << half) | right


def mixed(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Every bit of the result depends on every bit of the number."""
    numbers = (numbers ^ (numbers >> np.uint64(30))) * _MIX_1
    numbers = (numbers ^ (numbers >> np.uint64(27))) * _MIX_2
    return numbers ^ (numbers >> np.uint64(31))
