"""Subwords of SentencePiece, unigram or BPE: the usual choice for translation.

Nothing is lost: a character without a piece is spelt in bytes, so `<unk>` never comes out. SentencePiece writes a space
as U+2581 and cannot tell the two apart, therefore that character is a space in the normal form here.

Characters that are seen at least `minimum` times become pieces, rarer ones are spelt in bytes. A fixed coverage is
worse: 0.9995 takes the digits 4 to 9, Ä, Ö and Ü away from an everyday English-German corpus, and 1.0 never shows a
single byte to the model, which then meets bytes untrained.
"""

from __future__ import annotations

import io
import logging
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from random import Random
from typing import Any, Literal

from pydantic import Field
from sentencepiece import SentencePieceProcessor, SentencePieceTrainer

from regard.errors import ModelFolderError, SettingsError, TextError
from regard.settings import Settings
from regard.text.normalisation import normalise
from regard.tokens.listing import character_counts, frequent
from regard.tokens.tokeniser import BEGIN, END, SPACE, SPECIAL, UNKNOWN, fingerprint, utf8, word_starts

_THREADS = 16  # the sums of unigram training depend on how many threads share them: a constant makes files repeatable
_SEEDS, _SEEDS_A_PIECE = 300_000, 8  # unigram training begins with so many candidates; more are slower and no better
_PASSAGE = 8  # texts; whether as many in a row come twice decides about their order
_BYTES = 256
_TOGETHER = 10_000  # texts whose characters are counted at a time
_FEW = 24  # texts that are encoded one by one
_LEAST_COVERAGE = 0.98  # the least that SentencePiece accepts

_log = logging.getLogger(__name__)


class Options(Settings):
    """What can be chosen for subwords."""

    algorithm: Literal["unigram", "bpe"] = "unigram"
    minimum: int = Field(default=5, ge=1)


class Subwords:
    """A SentencePiece model; its special ids are those of the model."""

    kind = "subwords"

    def __init__(self, *, model: bytes, options: Options) -> None:
        self.options = options
        self._model = model
        self._processor = SentencePieceProcessor(model_proto=model)
        self.size: int = self._processor.get_piece_size()
        self.begin: int = self._processor.pad_id()
        self.end: int = self._processor.eos_id()
        self.unknown: int = self._processor.unk_id()
        self._silent = frozenset((self.begin, self.end))

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the kind, its options and its files."""
        return fingerprint(self.kind, self.options, self.files())

    def normalise(self, text: str) -> str:
        """The normal form of text, in which U+2581 is a space."""
        return normalise(text.replace(SPACE, " ") if SPACE in text else text)

    def encode(self, text: str) -> list[int]:
        """The ids of any one `text`."""
        normal = self.normalise(text)
        try:
            ids: list[int] = self._processor.encode(normal, out_type=int)
        except RuntimeError:
            utf8(normal)
            raise
        return ids

    def encode_batch(self, texts: list[str], threads: int = 1) -> list[list[int]]:
        """The ids of each of `texts`, which are in normal form, at SentencePiece's own speed.

        SentencePiece starts threads for every list, which takes as long as encoding some twenty sentences.
        """
        if len(texts) <= _FEW:
            return [self.encode(text) for text in texts]
        try:
            ids: list[list[int]] = self._processor.encode(texts, out_type=int, num_threads=threads)
        except TypeError:
            for text in texts:
                utf8(text)
            raise
        return ids

    def decode(self, ids: Sequence[int]) -> str:
        """The text of `ids`; bytes that are not UTF-8 give U+FFFD."""
        heard = ids if self._silent.isdisjoint(ids) else [token for token in ids if token not in self._silent]
        text: str = self._processor.decode(list(map(int, heard)))
        return text

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """The pieces as SentencePiece writes them."""
        return list(map(self._pieces.__getitem__, ids))

    def word_starts(self, ids: Sequence[int]) -> list[bool]:
        """A word starts with a piece that starts with a space."""
        return word_starts(ids, opening=self._opening, special=self._silent)

    def files(self) -> dict[str, bytes]:
        """The model, as SentencePiece, Marian and CTranslate2 read it."""
        return {"spm": self._model}

    @cached_property
    def _pieces(self) -> list[str]:
        pieces: list[str] = self._processor.id_to_piece(list(range(self.size)))
        return pieces

    @cached_property
    def _opening(self) -> frozenset[int]:
        return frozenset(token for token, piece in enumerate(self._pieces) if piece.startswith(SPACE))


def train(texts: Sequence[str], *, vocabulary: int, protected: Sequence[str], options: Options) -> Subwords:
    """A SentencePiece model; its vocabulary is smaller than asked for where the texts do not yield as many pieces."""
    texts = [_readable(text) for text in texts]
    room = max(0, vocabulary - len(SPECIAL) - _BYTES - len(protected))
    model = io.BytesIO()
    try:
        SentencePieceTrainer.train(
            sentence_iterator=iter(_without_repeated_passages(texts) if options.algorithm == "unigram" else texts),
            model_writer=model,
            model_type=options.algorithm,
            vocab_size=vocabulary,
            hard_vocab_limit=False,
            required_chars=_characters(texts, protected=protected, minimum=options.minimum, limit=room // 2),
            character_coverage=_LEAST_COVERAGE,
            user_defined_symbols=list(protected),
            byte_fallback=True,
            normalization_rule_name="identity",
            remove_extra_whitespaces=False,
            pad_id=BEGIN,
            eos_id=END,
            unk_id=UNKNOWN,
            bos_id=-1,
            unk_surface=SPECIAL[UNKNOWN],
            max_sentence_length=2**30,
            shuffle_input_sentence=False,
            num_threads=_THREADS,
            minloglevel=2,
            **_candidates(texts, vocabulary),
        )
    except RuntimeError as error:
        raise _explained(error, vocabulary) from None
    subwords = Subwords(model=model.getvalue(), options=options)
    if subwords.size < vocabulary:
        _log.warning(
            "The text yields only %d subwords, so the vocabulary is smaller than the requested %d.",
            subwords.size,
            vocabulary,
        )
    return subwords


def load(files: Mapping[str, bytes], *, options: Options) -> Subwords:
    """The tokeniser of a SentencePiece model that has a padding and an end piece."""
    try:
        SentencePieceProcessor().load_from_serialized_proto(
            files["spm"]
        )  # the constructor takes emptiness for no model
        subwords = Subwords(model=files["spm"], options=options)
    except RuntimeError:
        raise ModelFolderError("this is not a SentencePiece model.") from None
    if min(subwords.begin, subwords.end) < 0:
        raise ModelFolderError("this SentencePiece model lacks the padding piece or the end piece.")
    return subwords


def _readable(text: str) -> str:
    """The text without the two characters that SentencePiece keeps for itself; it would drop a line with U+2585."""
    return text.replace(SPACE, " ").replace("\u2585", " ")


def _without_repeated_passages(texts: Sequence[str]) -> Sequence[str]:
    """The same texts, in an order drawn by lot where a passage of them comes twice.

    SentencePiece 0.2.2 looks for strings that occur often, and what comes twice as a whole, such as a file that is
    listed twice, it reads from each of its places to its end, which takes time by the square of its length.
    """
    places = range(len(texts) - _PASSAGE + 1)
    if len({tuple(texts[place : place + _PASSAGE]) for place in places}) == len(places):
        return texts
    mixed = list(texts)
    Random(0).shuffle(mixed)  # noqa: S311
    return mixed


def _candidates(texts: Sequence[str], vocabulary: int) -> dict[str, Any]:
    """How many candidates unigram training begins with; nothing where the texts are too short to have so many."""
    most = max(_SEEDS, _SEEDS_A_PIECE * vocabulary)
    return {"seed_sentencepiece_size": most} if sum(map(len, texts)) > most else {}


def _characters(texts: Sequence[str], *, protected: Sequence[str], minimum: int, limit: int) -> str:
    """The characters that become pieces: seen at least `minimum` times, the most frequent first, at most `limit`.

    Those within protected strings do not count: SentencePiece ends the process if a required character is never met.
    """
    apart = re.compile("|".join(re.escape(string) for string in sorted(protected, key=len, reverse=True)))
    counts: Counter[str] = Counter()
    for first in range(0, len(texts), _TOGETHER):
        together = "\n".join(texts[first : first + _TOGETHER])
        counts.update(character_counts(apart.sub("", together) if protected else together))
    del counts["\n"], counts[" "]
    return "".join(frequent(counts, minimum=minimum)[:limit])


def _explained(error: RuntimeError, vocabulary: int) -> SettingsError | TextError:
    """What SentencePiece's refusal means for a person."""
    needed = re.search(r"smaller than required_chars\. \d+ vs (\d+)", str(error))
    if needed:
        return SettingsError(
            f"vocabulary = {vocabulary}: this vocabulary is too small for subwords of this text.\n"
            f"  The special ids, 256 bytes, protected strings and frequent characters need {needed[1]} ids:"
            " choose a larger vocabulary, or the kind 'utf8', which needs none."
        )
    return TextError(
        f"SentencePiece finds no subwords in this text: {error}.\n  Give more text, or choose another kind."
    )
