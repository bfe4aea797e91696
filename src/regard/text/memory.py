"""Translation memories: sentence pairs in which a text is looked up, exactly or nearly.

Two texts are the same if they are in normal form (spaces, composed characters). How near two others are is the share of
their characters that they have in common, in order: 1 for equal texts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from difflib import SequenceMatcher
from functools import cached_property
from math import log
from typing import NamedTuple

from regard.text.normalisation import normalise
from regard.text.pairs import Pair
from regard.text.word_spans import word_spans

NEAR = 0.75
_CANDIDATES = 24  # those that share the rarest words are compared character by character


class Match(NamedTuple):
    """A pair of the memory whose source is near a text."""

    source: str
    target: str
    ratio: float


class Memory:
    """Sources and their translations. Of several translations of one source, the last is taken."""

    def __init__(self, pairs: Iterable[Pair]) -> None:
        self._targets: dict[str, str] = {}
        for pair in pairs:
            self._add(pair.source, pair.target)
            sources, targets = pair.source.split("\n"), pair.target.split("\n")
            if len(sources) == len(targets) > 1:
                for source, target in zip(sources, targets, strict=True):
                    self._add(source, target)

    def __len__(self) -> int:
        return len(self._targets)

    def exact(self, text: str) -> str | None:
        """The translation of exactly this text."""
        return self._targets.get(normalise(text))

    def near(self, text: str, *, least: float = NEAR, most: int = 3) -> list[Match]:
        """The pairs whose sources are nearest to a text, the nearest first; not the text itself."""
        wanted = normalise(text)
        matcher, found = SequenceMatcher(autojunk=False), []
        matcher.set_seq2(wanted)
        for number in self._candidates(wanted):
            source = self._sources[number]
            matcher.set_seq1(source)
            if source == wanted or matcher.real_quick_ratio() < least or matcher.quick_ratio() < least:
                continue
            ratio = matcher.ratio()
            if ratio >= least:
                found.append(Match(source, self._targets[source], round(ratio, 4)))
        return sorted(found, key=lambda match: -match.ratio)[:most]

    def _add(self, source: str, target: str) -> None:
        key = normalise(source)
        if key and target.strip():
            self._targets.pop(key, None)
            self._targets[key] = target

    @cached_property
    def _sources(self) -> list[str]:
        return list(self._targets)

    @cached_property
    def _by_word(self) -> dict[str, list[int]]:
        index: dict[str, list[int]] = {}
        for number, source in enumerate(self._sources):
            for word in _words(source):
                index.setdefault(word, []).append(number)
        return index

    def _candidates(self, text: str) -> list[int]:
        """The numbers of the sources that share the most, or the rarest, words with a text."""
        shared: Counter[int] = Counter()
        common = max(1000, len(self._sources) // 20)
        for word in _words(text):
            numbers = self._by_word.get(word, [])
            if numbers and len(numbers) <= common:
                weight = log(1 + len(self._sources) / len(numbers))
                for number in numbers:
                    shared[number] += weight  # type: ignore[assignment]
        return [number for number, _ in shared.most_common(_CANDIDATES)]


def _words(text: str) -> set[str]:
    return {text[start:end].lower() for start, end in word_spans(text)}
