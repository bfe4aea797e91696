"""Scores of parts of a test set: by how long the sentences are, and by how rare their words are."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from regard.metrics import Counted, Score

_WORD = re.compile(r"\w+")
_PARTS = 5
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
    """Lines by how often the rarest word of the reference occurs in the training text; without it, in the references."""
    known = frequencies or Frequencies(
        word_counts(references), "the references themselves, as no training text was given"
    )
    names = {start: _times(place) for place, start in enumerate(_TIMES)}
    labels = []
    for reference in references:
        rarest = min((known.counts.get(word, 0) for word in _words(reference)), default=None)
        labels.append("no words" if rarest is None else names[max(start for start in _TIMES if start <= rarest)])
    return Slicing(
        "By the rarest word",
        f"Lines are grouped by how often the rarest word of the reference occurs, counted in {known.where}.",
        _slices(labels, [*names.values(), "no words"], counted),
    )


def word_counts(texts: Iterable[str]) -> Counter[str]:
    """How often each word occurs, letter case aside."""
    return Counter(word for text in texts for word in _words(text))


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def _times(place: int) -> str:
    start, end = _TIMES[place], (*_TIMES, 0)[place + 1] - 1
    if place < 2:
        return ("never", "once")[place]
    return f"{start}–{end} times" if end > 0 else f"{start:,} or more"


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
