"""Word alignments: which word of a target comes from which of its source. Read from a file, or found in the pairs.

They are found as IBM's Model 1 does, with a leaning to the diagonal: each word of one side chooses the word of the
other that explains it best, once in each direction, and links that both choose are kept: few, and mostly right.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from regard.errors import CorpusError
from regard.text.bad_input import BadInput
from regard.text.files import lines

Links = frozenset[tuple[int, int]]
"""Numbers of a source word and of a target word, from 0."""

_ROUNDS = 6
_DIAGONAL = 4.0  # how strongly words at the same share of their sentences are preferred
_LINK = re.compile(r"(\d+)-(\d+)")


def read_alignments(path: Path) -> list[Links]:
    """One line a pair, links such as `0-0 1-2`: source word, target word, as aligners write them."""
    found = []
    for number, line in enumerate(lines(path, BadInput()), start=1):
        links = []
        for part in (line or "").split():
            link = _LINK.fullmatch(part)
            if not link:
                raise CorpusError(
                    f"{path}:{number}: {part!r} is not an alignment link.\n"
                    "  Expected the numbers of a source word and a target word, counted from 0, such as: 0-0 1-2"
                )
            links.append((int(link[1]), int(link[2])))
        found.append(frozenset(links))
    return found


def align(sources: Sequence[Sequence[str]], targets: Sequence[Sequence[str]]) -> list[Links]:
    """Links between the words of each pair."""
    forth = _choices(sources, targets)
    back = [frozenset((source, target) for target, source in links) for links in _choices(targets, sources)]
    return [one & other for one, other in zip(forth, back, strict=True)]


def _choices(sources: Sequence[Sequence[str]], targets: Sequence[Sequence[str]]) -> list[Links]:
    """For each target word the source word that explains it best."""
    known: dict[str, int] = {}
    numbered = [
        [np.array([known.setdefault(word.lower(), len(known)) for word in words], dtype=np.int64) for words in side]
        for side in (sources, targets)
    ]
    cells = [_cells(source, target) for source, target in zip(*numbered, strict=True)]
    words = np.concatenate([each[0] for each in cells])  # [cells] the source and the target word as one number
    prior = np.concatenate([each[1] for each in cells])
    places = np.cumsum([0, *(len(target) for target in numbered[1])])
    columns = np.concatenate(
        [
            np.repeat(np.arange(len(target)), len(source)) + place
            for source, target, place in zip(*numbered, places[:-1], strict=True)
        ]
    )
    shares = _expectation(words, prior, columns, count=len(known))
    chosen, start = [], 0
    for source, target in zip(*numbered, strict=True):
        size = len(source) * len(target)
        best = shares[start : start + size].reshape(len(target), len(source)).argmax(axis=1)
        chosen.append(frozenset((int(s), t) for t, s in enumerate(best)))
        start += size
    return chosen


def _cells(source: NDArray[np.int64], target: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Every target word beside every source word, and how near to the diagonal they are."""
    pairs = (source[None, :] << 32) + target[:, None]
    across = (np.arange(len(source)) + 0.5) / len(source)
    down = (np.arange(len(target)) + 0.5) / len(target)
    return pairs.ravel(), np.exp(-_DIAGONAL * np.abs(across[None, :] - down[:, None])).ravel()


def _expectation(
    words: NDArray[np.int64], prior: NDArray[np.float64], columns: NDArray[np.int64], *, count: int
) -> NDArray[np.float64]:
    """How far each source word explains each target word beside it, after a few rounds of counting."""
    known, which = np.unique(words, return_inverse=True)
    explaining = known >> 32
    chance = np.ones(len(known))
    shares = prior
    for _ in range(_ROUNDS):
        weighed = chance[which] * prior
        shares = weighed / np.bincount(columns, weighed)[columns]
        seen = np.bincount(which, shares, minlength=len(known))
        chance = seen / np.bincount(explaining, seen, minlength=count)[explaining]
    return chance[which] * prior
