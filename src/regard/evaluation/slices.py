"""Scores of parts of a test set: by how long the sentences are, and by how rare their words are."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from regard.metrics import Counted, Score

_WORD = re.compile(r"\w+")
_PARTS = 5
_FEWEST = 10  # lines in a group, since fewer say nothing
_TIMES = (0, 1, 2, 10, 100, 1_000)  # where a new bucket of frequencies begins


class Frequencies(NamedTuple):
    """How often words occur, and in what."""

    counts: Mapping[str, int]
    where: str  # "the training text"


class Slice(NamedTuple):
    """Some of the lines, and the scores in them: for each system, one for each metric."""

    label: str
    lines: int
    scores: list[list[Score]]


class Slicing(NamedTuple):
    """All lines, split in one way."""

    title: str
    about: str
    slices: list[Slice]


def by_length(texts: Sequence[str], counted: Sequence[Sequence[Counted]], *, side: str) -> Slicing:
    """Lines by their number of words, or of characters if most have one word; about as many lines in each part.

    `counted` holds what each metric counted, for each system; `side` names the texts: source, reference.
    """
    lengths = [len(text.split()) for text in texts]
    unit = "words"
    if sum(length > 1 for length in lengths) * 2 < len(lengths):
        lengths, unit = [len(text) for text in texts], "characters"
    labels = {
        length: f"{part[0]}" if len(part) == 1 else f"{part[0]}–{part[-1]}"
        for part in _even_parts(lengths)
        for length in part
    }
    return Slicing(
        f"By length of the {side}",
        f"Lines are grouped by the number of {unit} in the {side}.",
        _slices([labels[length] for length in lengths], list(dict.fromkeys(labels.values())), counted),
    )


def by_rarity(
    references: Sequence[str], counted: Sequence[Sequence[Counted]], *, frequencies: Frequencies | None = None
) -> Slicing:
    """Lines by how often the rarest word of the reference occurs: in the training text, or else in the references."""
    known = frequencies or Frequencies(word_counts(references), "the references, because no training data was given")
    rarest = [min((known.counts.get(word, 0) for word in _words(text)), default=_TIMES[-1]) for text in references]
    starts = _well_filled([max(start for start in _TIMES if start <= times) for times in rarest])
    names = {start: _times(start, end) for start, end in pairwise([*starts, None]) if start is not None}
    labels = [names[max(start for start in starts if start <= times)] for times in rarest]
    return Slicing(
        "By the rarest word",
        f"Lines are grouped by how often the rarest word of the reference occurs in {known.where}.",
        _slices(labels, list(names.values()), counted),
    )


def word_counts(texts: Iterable[str]) -> Counter[str]:
    """How often each word occurs, letter case aside."""
    return Counter(word for text in texts for word in _words(text))


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def _well_filled(buckets: Sequence[int]) -> list[int]:
    """Where the buckets of frequencies begin, after those with too few lines have joined a neighbour."""
    sizes = Counter(buckets)
    starts = [min(buckets)]
    lines = 0
    for start in _TIMES:
        if lines >= _FEWEST and sum(sizes[later] for later in _TIMES if later >= start) >= _FEWEST:
            starts.append(start)
            lines = 0
        lines += sizes[start]
    return starts


def _times(start: int, end: int | None) -> str:
    """How often, as people say it: from `start` to below `end` times."""
    if end is None:
        return f"{start:,} or more" if start else "any number of times"
    if end - start == 1:
        return ("never", "once")[start]
    return f"{start}–{end - 1} times" if start else f"under {end:,} times"


def _even_parts(lengths: Sequence[int]) -> list[list[int]]:
    """The lengths that occur, in at most five groups of neighbours with about as many lines each."""
    parts: dict[int, list[int]] = {}
    before = 0
    for length, lines in sorted(Counter(lengths).items()):
        middle = before + lines / 2
        parts.setdefault(int(_PARTS * middle / len(lengths)), []).append(length)
        before += lines
    return list(parts.values())


def _slices(labels: Sequence[str], order: Sequence[str], counted: Sequence[Sequence[Counted]]) -> list[Slice]:
    lines: dict[str, list[int]] = {label: [] for label in order}
    for number, label in enumerate(labels):
        lines[label].append(number)
    return [
        Slice(label, len(chosen), [[one.score(chosen) for one in system] for system in counted])
        for label, chosen in lines.items()
        if chosen
    ]
