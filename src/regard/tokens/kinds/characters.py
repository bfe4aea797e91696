"""Characters, for spelling: words to sounds, names, dates.

Ids: 0 to 2 special, 3 to 258 the bytes, then protected strings, then characters, the most frequent first. Nothing is
lost: a character that was seen fewer than `minimum` times in training is spelt in bytes. `decomposed` takes characters
apart where Unicode can (NFD): a Korean syllable into its letters, a letter with an accent into both; reading puts them
together again.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import chain
from unicodedata import normalize

from pydantic import Field

from regard.errors import SettingsError
from regard.settings import Settings
from regard.text.normalisation import normalise
from regard.tokens.listing import frequent, read_lines, write_lines
from regard.tokens.tokeniser import BEGIN, END, SPACE, SPECIAL, UNKNOWN, fingerprint, utf8, word_starts

_FIRST_BYTE = len(SPECIAL)
_FIRST = _FIRST_BYTE + 256
_BYTES = tuple(bytes([value]) for value in range(256))


class Options(Settings):
    """What can be chosen for characters."""

    minimum: int = Field(default=2, ge=1)
    decomposed: bool = False


class Characters:
    """A list of characters, among them the longer strings that are protected."""

    kind = "characters"
    begin, end, unknown = BEGIN, END, UNKNOWN

    def __init__(self, *, characters: Sequence[str], options: Options) -> None:
        self.options = options
        self.size = _FIRST + len(characters)
        self._characters = tuple(characters)
        self._ids = {character: _FIRST + place for place, character in enumerate(characters)}
        self._contents = (b"", b"", SPECIAL[UNKNOWN].encode(), *_BYTES, *(item.encode() for item in characters))
        self._opening = frozenset((_FIRST_BYTE + ord(" "), self._ids.get(" ", _FIRST_BYTE + ord(" "))))
        longer = sorted((item for item in characters if len(item) > 1), key=len, reverse=True)
        self._items = re.compile("|".join([*map(re.escape, longer), "."]), re.DOTALL) if longer else None

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
        """The text of `ids`; bytes that are not UTF-8 give U+FFFD."""
        text = b"".join([self._contents[token] for token in ids]).decode(errors="replace")
        return normalize("NFC", text) if self.options.decomposed else text

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """The characters themselves."""
        return [self._piece(token) for token in ids]

    def word_starts(self, ids: Sequence[int]) -> list[bool]:
        """A word starts with the space before it."""
        return word_starts(ids, opening=self._opening, special=(BEGIN, END))

    def files(self) -> dict[str, bytes]:
        """The characters, one in each line."""
        return {"characters.txt": write_lines(self._characters)}

    def _encode(self, text: str) -> list[int]:
        text = _taken_apart(text, self.options)
        items = self._items.findall(text) if self._items else text
        try:
            return [self._ids[item] for item in items]
        except KeyError:
            utf8(text)
        ids: list[int] = []
        for item in items:
            known = self._ids.get(item)
            ids.extend([_FIRST_BYTE + byte for byte in item.encode()] if known is None else [known])
        return ids

    def _piece(self, token: int) -> str:
        if token < _FIRST_BYTE:
            return SPECIAL[token]
        if token < _FIRST:
            return f"<0x{token - _FIRST_BYTE:02X}>"
        return self._characters[token - _FIRST].replace(" ", SPACE)


def train(texts: Sequence[str], *, vocabulary: int, protected: Sequence[str], options: Options) -> Characters:
    """The characters of `texts`, the most frequent first, after the protected strings."""
    if vocabulary <= _FIRST + len(protected):
        raise SettingsError(
            f"vocabulary = {vocabulary}: this leaves no ids for characters.\n"
            f"  The special ids, the bytes and the protected strings need {_FIRST + len(protected)} ids. Choose a "
            "larger vocabulary, or the kind 'utf8', which needs none."
        )
    spelt = (_taken_apart(text, options) for text in texts)
    often = frequent(Counter(chain.from_iterable(spelt)), minimum=options.minimum)
    characters = list(dict.fromkeys([*(_taken_apart(text, options) for text in protected), *often]))
    return Characters(characters=characters[: vocabulary - _FIRST], options=options)


def _taken_apart(text: str, options: Options) -> str:
    return normalize("NFD", text) if options.decomposed else text


def load(files: Mapping[str, bytes], *, options: Options) -> Characters:
    """The tokeniser with these characters."""
    return Characters(characters=read_lines(files["characters.txt"]), options=options)
