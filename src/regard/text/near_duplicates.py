"""Finds texts that are nearly the same as one of a set: the same words in the same order, but for a few.

Letter case, punctuation and the digits of numbers do not count. Of N words, the longer text's, (N + 1) / 5 may be
inserted, deleted or replaced: none of three, one of four, two of nine. A model that was trained on near-duplicates of
a test set has a better score on it than it deserves.

Two texts with so few differences share one of their rarest words, so only texts with such a word in common are
compared: of a text with K differences, the K + 1 words that are rarest in the set. Languages that write no spaces
between words are compared as a whole.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable

_WORD = re.compile(r"\w+")
_DIGIT = re.compile(r"\d")


def words_of(text: str) -> tuple[str, ...]:
    """The words of a text, as they are compared."""
    return tuple(_WORD.findall(_DIGIT.sub("0", text.casefold())))


def allowed(words: int) -> int:
    """How many differences near-duplicates may have, if the longer one has so many words."""
    return (words + 1) // 5


class NearDuplicates:
    """A set of texts, and whether others are near-duplicates of one of them."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts = list(dict.fromkeys(filter(None, map(words_of, texts))))
        self._frequency = Counter(word for words in self._texts for word in set(words))
        self._with_word: dict[str, list[int]] = defaultdict(list)
        for number, words in enumerate(self._texts):
            for word in self._rarest(words):
                self._with_word[word].append(number)
        self._whole = set(self._texts)

    def find(self, text: str) -> str | None:
        """The words of one that the text nearly equals; None without one."""
        words = words_of(text)
        if words in self._whole:
            return " ".join(words)
        numbers = {number for word in self._rarest(words) for number in self._with_word.get(word, ())}
        for number in sorted(numbers):
            other = self._texts[number]
            limit = allowed(max(len(words), len(other)))
            if abs(len(words) - len(other)) <= limit and _differ_at_most(words, other, limit):
                return " ".join(other)
        return None

    def __contains__(self, text: str) -> bool:
        return self.find(text) is not None

    def _rarest(self, words: tuple[str, ...]) -> list[str]:
        """One distinct word more than may differ, the rarest first. The other text may be the longer one."""
        differences = (len(words) + 1) // 4  # K <= (N + 1) / 5 where N <= words + K
        order = sorted(set(words), key=lambda word: (self._frequency[word], word))
        return order[: differences + 1]


def _differ_at_most(one: tuple[str, ...], other: tuple[str, ...], limit: int) -> bool:
    """Whether so many insertions, deletions and replacements of words are enough."""
    if len(set(one) - set(other)) > limit or len(set(other) - set(one)) > limit:
        return False
    distances = list(range(len(other) + 1))
    for row, word in enumerate(one, start=1):
        diagonal, distances[0] = distances[0], row
        for column, against in enumerate(other, start=1):
            cheapest = min(distances[column] + 1, distances[column - 1] + 1, diagonal + (word != against))
            diagonal, distances[column] = distances[column], cheapest
        if min(distances) > limit:
            return False
    return distances[-1] <= limit
