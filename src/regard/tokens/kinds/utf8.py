"""The bytes of UTF-8: no vocabulary, nothing to train, every text.

Ids: 0 to 2 special, then the 256 bytes. Protected strings have no id of their own, and survive since nothing is lost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

from regard.settings import Settings
from regard.text.normalisation import normalise
from regard.tokens.tokeniser import BEGIN, END, SPACE, SPECIAL, UNKNOWN, fingerprint, utf8, word_starts

_FIRST = len(SPECIAL)
_CONTENTS = (b"", b"", SPECIAL[UNKNOWN].encode(), *(bytes([value]) for value in range(256)))
_SHIFTED = tuple(range(_FIRST, _FIRST + 256))


class Options(Settings):
    """There is nothing to choose."""


class Utf8:
    """The bytes of a text, each shifted past the special ids."""

    kind = "utf8"
    begin, end, unknown = BEGIN, END, UNKNOWN
    size = len(_CONTENTS)

    def __init__(self, *, options: Options) -> None:
        self.options = options

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the kind, its options and its files."""
        return fingerprint(self.kind, self.options, self.files())

    def normalise(self, text: str) -> str:
        """The normal form of text."""
        return normalise(text)

    def encode(self, text: str) -> list[int]:
        """The ids of any one `text`."""
        return [_SHIFTED[byte] for byte in utf8(normalise(text))]

    def encode_batch(self, texts: list[str], threads: int = 1) -> list[list[int]]:  # noqa: ARG002  one is enough here
        """The ids of each of `texts`, which are in normal form."""
        return [[_SHIFTED[byte] for byte in utf8(text)] for text in texts]

    def decode(self, ids: Sequence[int]) -> str:
        """The text of `ids`; bytes that are not UTF-8 give U+FFFD."""
        return b"".join([_CONTENTS[token] for token in ids]).decode(errors="replace")

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """Letters, digits and marks of ASCII as themselves, other bytes as <0xE2>."""
        return [SPECIAL[token] if token < _FIRST else _shown(token - _FIRST) for token in ids]

    def word_starts(self, ids: Sequence[int]) -> list[bool]:
        """A word starts with the space before it."""
        return word_starts(ids, opening=(_SHIFTED[ord(" ")],), special=(BEGIN, END))

    def files(self) -> dict[str, bytes]:
        """Nothing: the kind says everything."""
        return {}


def train(texts: Sequence[str], *, vocabulary: int, protected: Sequence[str], options: Options) -> Utf8:  # noqa: ARG001
    """The same tokeniser for every text."""
    return Utf8(options=options)


def load(files: Mapping[str, bytes], *, options: Options) -> Utf8:  # noqa: ARG001
    """The same tokeniser."""
    return Utf8(options=options)


def _shown(byte: int) -> str:
    if byte == ord(" "):
        return SPACE
    return chr(byte) if ord(" ") < byte < 0x7F else f"<0x{byte:02X}>"
