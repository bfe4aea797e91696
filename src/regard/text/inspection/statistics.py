"""What the texts of one side are like: lengths, characters and words, in memory that a large corpus does not fill."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from regard.text.inspection.languages import NO_SPACES

RARE = 5  # a character that is seen less often is spelt in bytes by a tokeniser of subwords
MOST_STRINGS = 50_000

_LONG_WORD = 5  # characters, where words are written without spaces
_UNSPACED = re.compile(f"[{NO_SPACES}]")
_JOIN = "@@"  # ends a piece of a word in text that others have split into subwords


@dataclass
class Lengths:
    """How many texts there are of each length."""

    counts: Counter[int] = field(default_factory=Counter)

    def add(self, lengths: Iterable[int]) -> None:
        """More texts."""
        self.counts.update(lengths)

    @property
    def total(self) -> int:
        """The lengths of all texts together."""
        return sum(length * count for length, count in self.counts.items())

    @property
    def mean(self) -> float:
        """The mean length."""
        return self.total / self.counts.total() if self.counts else 0.0

    @property
    def longest(self) -> int:
        """The length of the longest text."""
        return max(self.counts, default=0)

    def quantile(self, share: float) -> int:
        """The shortest length that at least this share of the texts does not exceed."""
        rest = share * self.counts.total()
        for length in sorted(self.counts):
            rest -= self.counts[length]
            if rest <= 0:
                return length
        return self.longest

    def table(self) -> dict[str, int | float]:
        """The figures for programs."""
        figures = {"total": self.total, "mean": round(self.mean, 2), "median": self.quantile(0.5)}
        return figures | {"p90": self.quantile(0.9), "max": self.longest}


@dataclass
class SideStatistics:
    """Lengths in characters and in words, the characters, and the strings between spaces as far as they are few."""

    characters: Lengths = field(default_factory=Lengths)
    words: Lengths = field(default_factory=Lengths)
    alphabet: Counter[str] = field(default_factory=Counter)
    strings: set[str] = field(default_factory=set)
    joined: int = 0

    def add(self, texts: Sequence[str], alphabet: Mapping[str, int]) -> None:
        """More texts, and the characters in them, counted."""
        self.characters.add(map(len, texts))
        self.alphabet.update(alphabet)
        split = [text.split() for text in texts]
        self.words.add(map(len, split))
        if not self.full:
            self.strings.update(*split)
        if _JOIN in "".join(texts):
            self.joined += sum(string.endswith(_JOIN) for strings in split for string in strings)

    def merge(self, later: SideStatistics) -> None:
        """Adds those of later texts, as if these had been added one after the other."""
        self.characters.counts.update(later.characters.counts)
        self.words.counts.update(later.words.counts)
        self.alphabet.update(later.alphabet)
        if not self.full:
            self.strings.update(later.strings)
        self.joined += later.joined

    @property
    def texts(self) -> int:
        """How many there are."""
        return self.characters.counts.total()

    @property
    def full(self) -> bool:
        """Whether there are too many strings to list more of them."""
        return len(self.strings) > MOST_STRINGS

    @property
    def unspaced(self) -> bool:
        """Whether most letters belong to scripts that put no spaces between words, such as Chinese and Thai."""
        letters = Counter[bool]()
        for character, count in self.alphabet.items():
            if character.isalpha():
                letters[_UNSPACED.match(character) is not None] += count
        return letters[True] > letters[False]

    @property
    def single_words(self) -> bool:
        """Whether nearly every text is one word, as in a dictionary."""
        return 0 < self.words.mean < 1.2 and (not self.unspaced or self.characters.mean <= _LONG_WORD)

    @property
    def split_already(self) -> bool:
        """Whether words are split into subwords with the usual mark."""
        return self.joined > 0.02 * self.words.total

    @property
    def closed(self) -> bool:
        """Whether the texts are made of few strings that come again and again, such as phonemes or labels of a tree."""
        return (
            not self.single_words
            and 50 * len(self.strings) < self.words.total
            and len(self.strings) < MOST_STRINGS // 10
        )

    def rare(self) -> list[str]:
        """The characters that are seen less than five times, in code point order."""
        return sorted(character for character, count in self.alphabet.items() if count < RARE)
