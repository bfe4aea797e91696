"""What a model looked at while it made one translation: the `Attention` object.

A decoder says a word before it reads it. So the queries of its attentions are named by the words that were said at
their positions, the end among them, and the keys of its self-attention by the words that it had read, the start first.

Shapes: H heads, T queries, S keys, K width of a head; in words instead of pieces, fewer of T and S.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Any, NamedTuple

from torch import Tensor

from regard.insight.word_pieces import Tokens, by_words
from regard.models.parts.observation import Head
from regard.models.protocols import AttentionName, Lookup

SOURCE_KIND = "decoder-source"  # the attention that alignments are made of
_MATCHES = 1e-3  # largest difference between log-weights and the scores behind them


class Alignment(NamedTuple):
    """A generated word, the source word with the most attention, and its weight; the end is left aside."""

    said: int
    source: int
    weight: float


class Picture(NamedTuple):
    """An image that was read as patches."""

    grid: tuple[int, int]  # patches below each other, and beside each other
    size: tuple[int, int, int]  # height, width, channels
    pixels: bytes  # row by row, from 0 to 255


@dataclass(frozen=True, kw_only=True)
class Attention:
    """One sentence, its translation, and every attention between them, exactly as used."""

    text: str
    translation: str
    source: Tokens
    said: Tokens
    read: Tokens
    logprobs: tuple[float, ...]  # of each generated piece
    lookups: Mapping[AttentionName, Lookup]  # query [H, T, K], key and value [H, S, K], weights [H, T, S]
    off: tuple[Head, ...] = ()  # heads that were switched off
    model: str = ""  # what it is called
    languages: Mapping[str, str]
    only_read: bool = False  # one text that was read, and not translated
    vectors: bool = False  # the source is vectors, not text
    picture: Picture | None = None  # the image that these vectors are patches of

    def kinds(self) -> list[str]:
        """The kinds of attention that there are."""
        return list(dict.fromkeys(name.kind for name in self.lookups))

    def queries(self, kind: str) -> Tokens:
        """Who looks."""
        return self.source if kind == "encoder" else self.said

    def keys(self, kind: str) -> Tokens:
        """What is looked at."""
        return self.read if kind == "decoder" else self.source

    def weights(self, name: AttentionName, *, words: bool = False) -> Tensor:
        """[H, T, S] each row of weights sums to 1, or to 0 where a head was switched off."""
        weights = self.lookups[name].weights
        return by_words(weights, self.queries(name.kind), self.keys(name.kind)) if words else weights

    def scores(self, name: AttentionName) -> tuple[Tensor, str]:
        """[H, T, S] the scores whose softmax gives the weights, and their terms; -inf where looking is not allowed.

        Where no product of queries and keys gives the weights (attention can be computed in other ways), their
        logarithms stand for the scores: the softmax is the same.
        """
        query, key, _, weights = self.lookups[name]
        logarithms = weights.log()
        if query.size(-1) == key.size(-1):
            products = query @ key.transpose(-2, -1)
            for scale, formula in ((math.sqrt(query.size(-1)), "q·k / √d"), (1.0, "q·k")):
                scores = (products / scale).masked_fill(weights == 0, -math.inf)
                seen = weights > 1e-6
                apart = (scores.log_softmax(dim=-1) - logarithms)[seen]
                if not apart.numel() or apart.abs().max() < _MATCHES:
                    return scores, formula
        return logarithms, "log weight"

    def alignment(self) -> list[Alignment]:
        """The source word behind each generated word, by the mean of all heads that look at the source in one layer.

        It is the layer that is most decided. The end of the source is left aside: heads rest there. Vectors are no
        words, so they have no alignment.
        """
        layers = [name for name in self.lookups if name.kind == SOURCE_KIND]
        if not layers or len(self.source.words) < 2 or self.vectors:
            return []
        means = [self.weights(name, words=True).mean(dim=0)[:, :-1] for name in layers]  # [said words, source words]
        weights = max(means, key=lambda mean: float(mean.amax(dim=-1).mean()))
        best = weights.max(dim=-1)
        return [
            Alignment(said, int(source), float(weight))
            for said, (weight, source) in enumerate(zip(best.values, best.indices, strict=True))
        ]

    def table(self) -> dict[str, Any]:
        """For programs: all of it but queries, keys and values."""
        return {
            "model": self.model,
            "source": self.text,
            "translation": self.translation,
            "logprob": sum(self.logprobs),
            "logprobs": self.logprobs,
            "off": [str(head) for head in self.off],
            "tokens": {"source": self.source.table(), "said": self.said.table(), "read": self.read.table()},
            "alignment": [each._asdict() for each in self.alignment()],
            "attention": [
                {
                    "name": f"{name}.{head}",
                    "queries": "source" if name.kind == "encoder" else "said",
                    "keys": "read" if name.kind == "decoder" else "source",
                    "weights": [[round(weight, 6) for weight in row] for row in weights.tolist()],
                }
                for name, lookup in self.lookups.items()
                for head, weights in enumerate(lookup.weights)
            ],
        }

    def _repr_html_(self) -> str:
        """The page in a notebook, in a frame of its own."""
        from regard.insight.attention_page import page

        return (
            f'<iframe title="Attention" srcdoc="{escape(page(self))}" '
            'style="width:100%;height:60rem;border:0" loading="lazy"></iframe>'
        )
