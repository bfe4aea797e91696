"""The tokeniser of a Hugging Face folder, as its `tokenizer.json` describes it: GPT-2's bytes, BERT's word pieces.

It is imported with such a model and cannot be trained. The library `tokenizers` reads the file (the extra `exchange`).
A round trip gives back what the file's own normalisation leaves of a text: an uncased BERT forgets capitals. Where the
file puts a token before every text, such as [CLS], so does `encode`; Regard puts the end behind it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from importlib import import_module
from typing import Any, NoReturn

from pydantic import NonNegativeInt, PositiveInt

from regard.errors import ModelFolderError, SettingsError
from regard.settings import Settings
from regard.text.normalisation import normalise
from regard.tokens.tokeniser import SPACE, fingerprint, utf8, word_starts

_BYTE_SPACE, _BYTE_BREAK, _INSIDE = "Ġ", "Ċ", "##"  # a space and a line break among bytes; a piece within a word


class Options(Settings):
    """What the file does not say: how many ids the model has, and which are special."""

    size: PositiveInt = 3
    begin: NonNegativeInt = 0
    end: NonNegativeInt = 1
    unknown: NonNegativeInt = 2
    first: NonNegativeInt | None = None  # the token before every text, such as [CLS]


class Hub:
    """A tokenizer.json."""

    kind = "hub"

    def __init__(self, *, content: bytes, options: Options) -> None:
        self.options, self._content = options, content
        self._tokenizer = _read(content)
        if self._tokenizer.get_vocab_size(with_added_tokens=True) > options.size:
            raise ModelFolderError(f"the tokeniser has more than the {options.size:,} ids of the model.")
        self.size, self.begin, self.end, self.unknown = options.size, options.begin, options.end, options.unknown
        first = () if options.first is None else (options.first,)
        self._first, self._silent = list(first), frozenset((self.begin, self.end, *first))

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the kind, its options and its files."""
        return fingerprint(self.kind, self.options, self.files())

    def normalise(self, text: str) -> str:
        """The normal form of text, before the file's own."""
        return normalise(text)

    def encode(self, text: str) -> list[int]:
        """The ids of any one `text`."""
        return self.encode_batch([normalise(text)])[0]

    def encode_batch(self, texts: list[str], threads: int = 1) -> list[list[int]]:  # noqa: ARG002  it has its own
        """The ids of each of `texts`, which are in normal form."""
        for text in texts:
            utf8(text)
        found = self._tokenizer.encode_batch(texts, add_special_tokens=False)
        return [[*self._first, *each.ids] if each.ids else [] for each in found]

    def decode(self, ids: Sequence[int]) -> str:
        """The text of `ids`."""
        known = [token for token in ids if token not in self._silent and token < len(self._pieces)]
        text: str = self._tokenizer.decode(known, skip_special_tokens=False)
        return text

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """The pieces of the file; spaces and line breaks as in other kinds."""
        return [self._pieces[token] for token in ids]

    def word_starts(self, ids: Sequence[int]) -> list[bool]:
        """A word starts with a piece that starts with a space, or that is not marked as one within a word."""
        return word_starts(ids, opening=self._opening, special=self._silent)

    def files(self) -> dict[str, bytes]:
        """The file as it is."""
        return {"hub.json": self._content}

    @cached_property
    def _pieces(self) -> list[str]:
        found = [f"<{token}>" for token in range(self.size)]
        for piece, token in self._tokenizer.get_vocab(with_added_tokens=True).items():
            found[token] = "<0x0A>" if piece == _BYTE_BREAK else piece.replace(_BYTE_SPACE, SPACE)
        return found

    @cached_property
    def _opening(self) -> frozenset[int]:
        inside = any(piece.startswith(_INSIDE) for piece in self._pieces)
        return frozenset(
            token
            for token, piece in enumerate(self._pieces)
            if (not piece.startswith(_INSIDE) if inside else piece.startswith(SPACE))
        )


def train(texts: Sequence[str], *, vocabulary: int, protected: Sequence[str], options: Options) -> NoReturn:  # noqa: ARG001  a kind's signature
    """Refuses: this kind comes with imported models alone."""
    raise SettingsError(
        "kind = 'hub': this tokeniser comes with imported models and cannot be trained.\n  Use kind = 'subwords'."
    )


def load(files: Mapping[str, bytes], *, options: Options) -> Hub:
    """The tokeniser of a tokenizer.json."""
    return Hub(content=files["hub.json"], options=options)


def _read(content: bytes) -> Any:
    try:
        library = import_module("tokenizers")
    except ImportError:
        raise SettingsError(
            "This tokeniser needs the library tokenizers, which is not installed.\n"
            "  Install it with: pip install 'regard[exchange]'"
        ) from None
    try:
        return library.Tokenizer.from_str(content.decode())
    except Exception as error:  # noqa: BLE001  the library raises nothing more exact
        raise ModelFolderError(f"this is not a tokenizer.json: {str(error)[:200]}") from None
