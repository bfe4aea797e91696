"""Words, for text that is split already: at spaces, and nowhere else. Phonemes, trees, prepared subwords.

The vocabulary is closed, so a round trip gives back the normal form only of text whose words are all known; `<unk>`
stands in it for any other word. A word that goes on in the next one can carry a mark (`join = "@@"` for text such as
`transl@@ ation`): decoding joins such words.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property

from pydantic import Field

from regard.errors import SettingsError
from regard.settings import Settings
from regard.text.normalisation import normalise
from regard.tokens.listing import frequent, read_lines, write_lines
from regard.tokens.tokeniser import BEGIN, END, SPECIAL, UNKNOWN, fingerprint, utf8

_FIRST = len(SPECIAL)

_log = logging.getLogger(__name__)


class Options(Settings):
    """What can be chosen for words: the mark that joins, and how often a word is seen before it gets an id."""

    join: str = Field(default="", pattern=r"^\S*$")
    minimum: int = Field(default=1, ge=1)


class Words:
    """A list of words."""

    kind = "words"
    begin, end, unknown = BEGIN, END, UNKNOWN

    def __init__(self, *, words: Sequence[str], options: Options) -> None:
        self.options = options
        self.size = _FIRST + len(words)
        self._words = tuple(words)
        self._pieces = (*SPECIAL, *words)
        self._ids = {word: _FIRST + place for place, word in enumerate(words)}

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the kind, its options and its files."""
        return fingerprint(self.kind, self.options, self.files())

    def normalise(self, text: str) -> str:
        """The normal form of text."""
        return normalise(text)

    def encode(self, text: str) -> list[int]:
        """The ids of any one `text`."""
        return self._encode(normalise(text))

    def encode_batch(self, texts: list[str], threads: int = 1) -> list[list[int]]:  # noqa: ARG002  one is enough here
        """The ids of each of `texts`, which are in normal form."""
        return [self._encode(text) for text in texts]

    def decode(self, ids: Sequence[int]) -> str:
        """The words with a space between them, or none where the mark joins them."""
        text = " ".join([self._pieces[token] for token in ids if token not in (BEGIN, END)])
        mark = self.options.join
        return text.replace(f"{mark} ", "").removesuffix(mark) if mark else text

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """The words themselves."""
        return [self._pieces[token] for token in ids]

    def word_starts(self, ids: Sequence[int]) -> list[bool]:
        """A word starts with each id, but not after a mark that joins."""
        mark = self.options.join
        before = [False, *(bool(mark) and token >= _FIRST and self._pieces[token].endswith(mark) for token in ids)]
        return [token < UNKNOWN or not joined for token, joined in zip(ids, before, strict=False)]

    def files(self) -> dict[str, bytes]:
        """The words, one in each line."""
        return {"words.txt": write_lines(self._words)}

    def _encode(self, text: str) -> list[int]:
        if not text:
            return []
        ids, words = self._ids, text.split(" ")
        try:
            return [ids[word] for word in words]
        except KeyError:
            utf8(text)
        return [ids.get(word, UNKNOWN) for word in words]


def train(texts: Sequence[str], *, vocabulary: int, protected: Sequence[str], options: Options) -> Words:
    """The words of `texts`, the most frequent first, after the protected strings."""
    if vocabulary <= _FIRST + len(protected):
        raise SettingsError(
            f"vocabulary = {vocabulary}: this leaves no ids for words.\n"
            f"  The special ids and the protected strings need {_FIRST + len(protected)} ids: choose a larger one."
        )
    counts = Counter(word for text in texts for word in text.split(" ") if word)
    words = list(dict.fromkeys([*protected, *frequent(counts, minimum=options.minimum)]))
    if len(words) > vocabulary - _FIRST:
        dropped = len(words) - (vocabulary - _FIRST)
        _log.warning(
            "%d rare words do not fit into a vocabulary of %d: the tokeniser maps them to <unk>.", dropped, vocabulary
        )
    return Words(words=words[: vocabulary - _FIRST], options=options)


def load(files: Mapping[str, bytes], *, options: Options) -> Words:
    """The tokeniser with these words."""
    return Words(words=read_lines(files["words.txt"]), options=options)
