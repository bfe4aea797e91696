"""Subwords of SentencePiece with a vocabulary beside them: the tokeniser of Marian and of all models of OPUS-MT.

It is imported with such a model and cannot be trained. SentencePiece cuts a text into pieces, as for `subwords`, but
their ids are those of a table. A piece without an id is unknown. Such a SentencePiece model normalises text in its own
way, most often by NFKC, so a round trip gives back what that leaves of a text: not always the text in normal form.

A text may start with the language that it is to be translated into, `>>fr<<`, which is one token.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import NoReturn

from pydantic import NonNegativeInt, PositiveInt
from sentencepiece import SentencePieceProcessor

from regard.errors import ModelFolderError, SettingsError
from regard.settings import Settings
from regard.text.normalisation import normalise
from regard.tokens.tokeniser import SPACE, fingerprint, utf8, word_starts


class Options(Settings):
    """What the table does not say: how many ids there are, and which are special."""

    size: PositiveInt = 3
    begin: NonNegativeInt = 2
    end: NonNegativeInt = 0
    unknown: NonNegativeInt = 1


class Marian:
    """A SentencePiece model and the ids of its pieces."""

    kind = "marian"

    def __init__(self, *, model: bytes, vocabulary: bytes, options: Options) -> None:
        self.options, self._model, self._vocabulary = options, model, vocabulary
        self._processor = SentencePieceProcessor(model_proto=model)
        self._ids = _table(vocabulary, options)
        self.size, self.begin, self.end, self.unknown = options.size, options.begin, options.end, options.unknown
        self._silent = frozenset((self.begin, self.end))

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the kind, its options and its files."""
        return fingerprint(self.kind, self.options, self.files())

    def normalise(self, text: str) -> str:
        """The normal form of text, before SentencePiece's own."""
        return normalise(text.replace(SPACE, " ") if SPACE in text else text)

    def encode(self, text: str) -> list[int]:
        """The ids of any one `text`."""
        normal = self.normalise(text)
        utf8(normal)
        return self._encoded(normal)

    def encode_batch(self, texts: list[str], threads: int = 1) -> list[list[int]]:  # noqa: ARG002  the table is Python
        """The ids of each of `texts`, which are in normal form."""
        for text in texts:
            utf8(text)
        return list(map(self._encoded, texts))

    def _encoded(self, text: str) -> list[int]:
        language, rest = _language(text)
        pieces: list[str] = [*language, *self._processor.encode(rest, out_type=str)]
        return [self._ids.get(piece, self.unknown) for piece in pieces]

    def decode(self, ids: Sequence[int]) -> str:
        """The text of `ids`."""
        pieces = [self._pieces[token] for token in ids if token not in self._silent]
        text: str = self._processor.decode(pieces) if pieces else ""
        return text.replace(SPACE, " ").strip()

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """The pieces as SentencePiece writes them."""
        return [self._pieces[token] for token in ids]

    def word_starts(self, ids: Sequence[int]) -> list[bool]:
        """A word starts with a piece that starts with a space."""
        return word_starts(ids, opening=self._opening, special=self._silent)

    def files(self) -> dict[str, bytes]:
        """The SentencePiece model, and the table of ids."""
        return {"spm": self._model, "vocab.json": self._vocabulary}

    @cached_property
    def _pieces(self) -> list[str]:
        """[id] its piece; an id without one shows its number."""
        found = [f"<{token}>" for token in range(self.size)]
        for piece, token in self._ids.items():
            found[token] = piece
        return found

    @cached_property
    def _opening(self) -> frozenset[int]:
        return frozenset(token for token, piece in enumerate(self._pieces) if piece.startswith(SPACE))


def train(texts: Sequence[str], *, vocabulary: int, protected: Sequence[str], options: Options) -> NoReturn:  # noqa: ARG001  a kind's signature
    """Refuses: this kind comes with imported models alone."""
    raise SettingsError(
        "kind = 'marian': this tokeniser comes with imported models and cannot be trained.\n"
        "  Use kind = 'subwords', which is SentencePiece, too."
    )


def load(files: Mapping[str, bytes], *, options: Options) -> Marian:
    """The tokeniser of a SentencePiece model and a table of ids."""
    try:
        SentencePieceProcessor().load_from_serialized_proto(files["spm"])
        return Marian(model=files["spm"], vocabulary=files["vocab.json"], options=options)
    except RuntimeError:
        raise ModelFolderError("this is not a SentencePiece model.") from None


def _table(content: bytes, options: Options) -> dict[str, int]:
    """Piece to id."""
    try:
        table = json.loads(content)
    except ValueError:
        raise ModelFolderError("the table of ids is not JSON.") from None
    if not isinstance(table, dict) or not all(type(token) is int for token in table.values()):
        raise ModelFolderError("the table of ids does not map pieces to numbers.")
    largest = max([*table.values(), options.begin, options.end, options.unknown])
    if min(table.values(), default=0) < 0 or largest >= options.size:
        raise ModelFolderError(f"the table of ids has numbers outside of 0 to {options.size - 1}.")
    return table


def _language(text: str) -> tuple[list[str], str]:
    """The language that a text starts with, if it does, and the rest."""
    close = text.find("<<")
    if not text.startswith(">>") or close < 0:
        return [], text
    return [text[: close + 2]], text[close + 2 :]
