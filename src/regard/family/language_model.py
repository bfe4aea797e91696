"""The LanguageModel: a model folder in, texts continued and scored.

model = regard.load("my-model")
model.generate("To be").text
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, overload

import torch
from torch import Tensor

from regard.batches.rows import rows_of
from regard.errors import TextError
from regard.family.generation import Continuation, Generation
from regard.family.opened import TOKENS, Opened
from regard.search import SearchSettings
from regard.tasks import language
from regard.translation.engines.benches import Benches

__all__ = ["Continuation", "LanguageModel", "Perplexity", "ScoredText"]

MOST = 200  # tokens that are generated, unless told
_SHARED = 0.5  # of a stretch that is read again, as the context of what follows


class ScoredText(NamedTuple):
    """The log-probabilities of a text under a model."""

    text: str
    total: float
    tokens: tuple[str, ...]  # its pieces, and its end
    logprobs: tuple[float, ...]


class Perplexity(NamedTuple):
    """How uncertain a model is about a text; by words and bytes it compares with any tokeniser."""

    total: float  # the sum of all log-probabilities
    documents: int
    tokens: int  # with the end of each document
    words: int  # between spaces
    bytes: int  # of UTF-8, line breaks within documents among them, and one for the end of each document

    @property
    def by_token(self) -> float:
        """Of each token."""
        return _perplexity(self.total, self.tokens)

    @property
    def by_word(self) -> float:
        """Of each word."""
        return _perplexity(self.total, self.words)

    @property
    def by_byte(self) -> float:
        """Of each byte."""
        return _perplexity(self.total, self.bytes)

    @property
    def bits_per_byte(self) -> float:
        """The same, as bits."""
        return -self.total / max(1, self.bytes) / math.log(2)

    def table(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        names = ("by_token", "by_word", "by_byte", "bits_per_byte")
        nats = -self.total / max(1, self.tokens)
        return self._asdict() | {"nats_per_token": nats} | {name: getattr(self, name) for name in names}


class LanguageModel(Opened):
    """A language model: `generate`, `stream`, `score`, `perplexity`."""

    task: ClassVar[str] = "language"

    @cached_property
    def _generation(self) -> Generation:
        """How it goes on; on a GPU its captured steps are kept."""
        benches = Benches() if self.device.type == "cuda" else None
        return Generation(self.model, self.lines, device=self.device, longest=self.longest, benches=benches)

    @overload
    def generate(  # type: ignore[overload-overlap]  # a text is not meant as its characters
        self,
        text: str = "",
        *,
        max_tokens: int = MOST,
        temperature: float | None = None,
        top_k: int | None = None,
        top_p: float | None = None,
        stop: Sequence[str] = (),
        seed: int | None = None,
        samples: int = 1,
    ) -> Continuation: ...
    @overload
    def generate(
        self,
        text: Iterable[str],
        *,
        max_tokens: int = MOST,
        temperature: float | None = None,
        top_k: int | None = None,
        top_p: float | None = None,
        stop: Sequence[str] = (),
        seed: int | None = None,
        samples: int = 1,
    ) -> list[Continuation]: ...
    def generate(
        self,
        text: str | Iterable[str] = "",
        *,
        max_tokens: int = MOST,
        temperature: float | None = None,
        top_k: int | None = None,
        top_p: float | None = None,
        stop: Sequence[str] = (),
        seed: int | None = None,
        samples: int = 1,
    ) -> Continuation | list[Continuation]:
        """Goes on from a text, or from each of several. Greedy, unless a temperature, top_k, top_p or seed is given.

        With several `samples` of each text, those of one text stand side by side in the list.
        """
        texts = [text] if isinstance(text, str) else list(text)
        settings = search_settings(max_tokens, temperature, top_k, top_p, seed, samples)
        with self.lock:
            found = self._generation.all([self._encode(each) for each in texts], settings, stop=stop)
        return found[0][0] if isinstance(text, str) and samples == 1 else [each for some in found for each in some]

    def stream(
        self,
        text: str = "",
        *,
        max_tokens: int = MOST,
        temperature: float | None = None,
        top_k: int | None = None,
        top_p: float | None = None,
        stop: Sequence[str] = (),
        seed: int | None = None,
    ) -> Iterator[str]:
        """The same for one text, in pieces as they come."""
        ids = self._encode(text)
        longest = self.longest
        most = max_tokens if longest is None else max(1, min(max_tokens, longest - len(ids) - 1))
        settings = search_settings(most, temperature, top_k, top_p, seed, 1)
        with self.lock:
            yield from self._generation.stream(ids, settings, stop=stop)

    def score(self, texts: str | Iterable[str]) -> ScoredText | list[ScoredText]:
        """The log-probability of each token of a text, or of each of several, its end included."""
        listed = [texts] if isinstance(texts, str) else list(texts)
        ids = [[*self._encode(text), self.tokeniser.end] for text in listed]
        found = [
            ScoredText(text, sum(logprobs), tuple(self.tokeniser.pieces(tokens)), tuple(logprobs))
            for text, tokens, logprobs in zip(listed, ids, self._logprobs(ids), strict=True)
        ]
        return found[0] if isinstance(texts, str) else found

    def perplexity(self, documents: Iterable[str]) -> Perplexity:
        """Of documents. A long one is read in stretches, each after the last part of the one before it."""
        texts = list(documents)
        if not any(text.strip() for text in texts):
            raise TextError("There is no text to measure.\n  Give at least one document that is not empty.")
        ids = [[*self._encode(text), self.tokeniser.end] for text in texts]
        total = sum(map(sum, self._logprobs(ids)))
        return Perplexity(
            total,
            len(texts),
            sum(map(len, ids)),
            sum(len(text.split()) for text in texts),
            sum(len(text.encode()) + 1 for text in texts),
        )

    def _encode(self, text: str) -> list[int]:
        if not isinstance(text, str):
            raise TextError(f"A text was expected, not {type(text).__name__}.\n  Give strings.")
        return self.lines.encode(text)

    def _logprobs(self, texts: Sequence[Sequence[int]]) -> list[list[float]]:
        """Of every token of each text, read in stretches that overlap where a text is longer than the model reads."""
        found: list[list[float]] = [[0.0] * len(ids) for ids in texts]
        pieces = [piece for number, ids in enumerate(texts) for piece in self._pieces(number, ids)]
        with self.lock:
            for numbers in self.grouped([piece.ids for piece in pieces], tokens=TOKENS // 4):
                rows = rows_of([[pieces[number].ids] for number in numbers])
                for number, values in zip(numbers, self._read(rows), strict=True):
                    text, first, new, ids = pieces[number]
                    found[text][first : first + new] = values[len(ids) - 1 - new : len(ids) - 1]
        return found

    def _pieces(self, number: int, ids: Sequence[int]) -> Iterator[_Piece]:
        """A text with the token before it, cut where it is too long; each piece but the first has a context."""
        whole = [self.tokeniser.begin, *ids]
        length = self.stretch
        step = max(1, int(length * (1 - _SHARED)))
        end = min(length, len(whole))
        yield _Piece(number, 0, end - 1, whole[:end])
        while end < len(whole):
            first, end = end, min(end + step, len(whole))
            yield _Piece(number, first - 1, end - first, whole[max(0, end - length) : end])

    @torch.no_grad()
    def _read(self, rows: Any) -> list[list[float]]:
        """[N, T] the log-probability of the token after each position."""
        batch = language.batch({"text": rows}, begin=0, tokens=1).to(self.device)
        logits: Tensor = self.model(batch).float()
        chosen = logits.gather(-1, batch.labels[..., None])[..., 0] - logits.logsumexp(-1)
        values: list[list[float]] = chosen.double().cpu().tolist()
        return values


class _Piece(NamedTuple):
    """A stretch of a text that is read at a time; of its tokens, the last `new` are scored."""

    text: int  # its number
    first: int  # of its new tokens in the text
    new: int
    ids: list[int]


def search_settings(
    max_tokens: int, temperature: float | None, top_k: int | None, top_p: float | None, seed: int | None, samples: int
) -> SearchSettings:
    """Greedy search, or sampling where anything random was set."""
    given = {"temperature": temperature, "top_k": top_k, "top_p": top_p, "seed": seed}
    chosen = {name: value for name, value in given.items() if value is not None}
    table: dict[str, Any] = {
        "method": "sampling" if chosen or samples > 1 else "greedy",
        "n_best": samples,
        "max_length": max_tokens,
        "max_length_factor": 0.0,
        "max_length_offset": max_tokens,
        **chosen,
    }
    return SearchSettings.read(table, where="options")


def _perplexity(total: float, count: int) -> float:
    return math.exp(min(700.0, -total / max(1, count)))
