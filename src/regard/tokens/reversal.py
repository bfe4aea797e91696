"""Texts from their ends: what any kind of tokeniser gives, in reverse.

In some languages it is the end of a word that says how its beginning sounds. A model that reads and writes from there
counts positions from there, and has settled the end when it comes to the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from hashlib import sha256

from regard.settings import Settings
from regard.tokens.tokeniser import Tokeniser


class Reversed:
    """A tokeniser whose ids begin with those of a text's end. Pieces and words stand in the order of the ids."""

    def __init__(self, forwards: Tokeniser) -> None:
        self.forwards = forwards
        self.kind, self.size = forwards.kind, forwards.size
        self.begin, self.end, self.unknown = forwards.begin, forwards.end, forwards.unknown

    @property
    def options(self) -> Settings:
        """Those of the kind."""
        return self.forwards.options

    @cached_property
    def hash(self) -> str:
        """Another one than that of the same tokeniser forwards."""
        return sha256(f"reversed {self.forwards.hash}".encode()).hexdigest()

    def normalise(self, text: str) -> str:
        """The normal form of `text`, forwards."""
        return self.forwards.normalise(text)

    def encode(self, text: str) -> list[int]:
        """The ids of any one `text`, the last one first."""
        return self.forwards.encode(text)[::-1]

    def encode_batch(self, texts: list[str], threads: int = 1) -> list[list[int]]:
        """The ids of each of `texts`."""
        return [ids[::-1] for ids in self.forwards.encode_batch(texts, threads)]

    def decode(self, ids: Sequence[int]) -> str:
        """The text that ends with the first of `ids`."""
        return self.forwards.decode(ids[::-1])

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """What a person sees for each id."""
        return self.forwards.pieces(ids)

    def word_starts(self, ids: Sequence[int]) -> list[bool]:
        """A word starts with its last piece: with the one that comes before another word's first in the text."""
        forwards = self.forwards.word_starts(ids[::-1])
        return [True, *reversed(forwards[1:])] if forwards else []

    def files(self) -> dict[str, bytes]:
        """Those of the tokeniser forwards."""
        return self.forwards.files()
