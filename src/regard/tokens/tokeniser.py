"""What a tokeniser does, and what a file in `kinds` contains.

A kind is one file, `kinds/<name>.py`, found by its name. It defines

- `Options`, a `Settings` class: what can be chosen for this kind alone;
- `train(texts, *, vocabulary, protected, options)`: a tokeniser made from sampled text in normal form, with at most
  `vocabulary` ids, in which the strings of `protected` are one id each wherever the kind has ids for strings;
- `load(files, *, options)`: the tokeniser that gave these `files()`; damaged ones raise a `ModelFolderError`.

The same texts and options give the same bytes in `files()`, on any machine and with any number of threads.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from hashlib import sha256
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, Protocol, cast

from regard.errors import SettingsError, TextError
from regard.settings import Settings, nearest
from regard.tokens import kinds

BEGIN, END, UNKNOWN = 0, 1, 2
SPECIAL = ("<pad>", "</s>", "<unk>")
SPACE = "▁"  # how a piece shows a space


class Tokeniser(Protocol):
    """Turns text into ids and back.

    `decode(encode(text)) == normalise(text)` for every text without lone surrogates; a kind that cannot promise this
    (`words`, whose vocabulary is closed) says in its header what it promises instead.
    """

    @property
    def kind(self) -> str:
        """The name of the file in `kinds` that made it."""

    @property
    def options(self) -> Settings:
        """The options of that kind."""

    @property
    def size(self) -> int:
        """The number of ids: they are 0 to size - 1."""

    @property
    def begin(self) -> int:
        """The id that the decoder starts from; the same id fills up short rows (padding)."""

    @property
    def end(self) -> int:
        """The id after the last token of a sentence."""

    @property
    def unknown(self) -> int:
        """The id for what has no id."""

    @property
    def hash(self) -> str:
        """SHA-256 of the kind, its options and its files: equal hashes mean equal ids for every text."""

    def normalise(self, text: str) -> str:
        """The normal form of `text`: what a round trip gives back."""

    def encode(self, text: str) -> list[int]:
        """The ids of any one `text`; no begin and no end is added."""

    def encode_batch(self, texts: list[str], threads: int = 1) -> list[list[int]]:
        """The ids of each of `texts`, which are in normal form already: the fast way for a whole corpus."""

    def decode(self, ids: Sequence[int]) -> str:
        """The text of `ids`, whatever begins, pads or ends them."""

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """What a person sees for each id; a space shows as ▁, a lone byte as <0xE2>."""

    def word_starts(self, ids: Sequence[int]) -> list[bool]:
        """For each id, whether a new word starts with it; special ids stand alone."""

    def files(self) -> dict[str, bytes]:
        """What is stored: the ending of each file's name, and its content."""


class Kind(Protocol):
    """A file in `kinds`: see the header of this file."""

    Options: type[Settings]

    def train(self, texts: Sequence[str], *, vocabulary: int, protected: Sequence[str], options: Any) -> Tokeniser:
        """A new tokeniser from sampled text in normal form."""

    def load(self, files: Mapping[str, bytes], *, options: Any) -> Tokeniser:
        """The tokeniser that gave these files."""


def kind_names() -> list[str]:
    """The names of all kinds."""
    return sorted(module.name for module in iter_modules(kinds.__path__))


def find_kind(name: str) -> Kind:
    """The file of the kind called `name`."""
    if name not in kind_names():
        raise SettingsError(f"kind: there is no tokeniser called {name!r}; {nearest(name, kind_names())}")
    return cast("Kind", import_module(f"{kinds.__name__}.{name}"))


def fingerprint(kind: str, options: Settings, files: Mapping[str, bytes]) -> str:
    """The hash of a tokeniser: SHA-256 of its kind, its options and its files."""
    contents = {ending: sha256(content).hexdigest() for ending, content in files.items()}
    return sha256(json.dumps([kind, options.table(), contents], sort_keys=True).encode()).hexdigest()


def utf8(text: str) -> bytes:
    """The UTF-8 of `text`, which has no lone surrogates."""
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise TextError(
            f"Character {error.start + 1} of {text[:40]!r} is half of a surrogate pair (U+{ord(text[error.start]):04X})"
            ", which is not text.\n  The text was decoded wrongly. Decode it again as UTF-8 or UTF-16."
        ) from None


def word_starts(ids: Sequence[int], *, opening: Collection[int], special: Collection[int]) -> list[bool]:
    """A word starts with an `opening` id, with a `special` id and after one, and with the first id of all."""
    starts, apart = [], True
    for token in ids:
        starts.append(apart or token in opening or token in special)
        apart = token in special
    return starts
