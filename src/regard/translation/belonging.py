"""Which words of a translation say what some words of its source say.

Attention shows where the decoder looked, which is not always what it said. So the model is also asked: how much less
likely is each word of the translation if those words of the source are left out? Both together find the right words
where each alone errs.

Shapes: U words of the target.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from regard.errors import SettingsError
from regard.text.word_spans import word_spans
from regard.tokens import Tokenisers
from regard.translation.alignment import Aligner, Said, word_numbers
from regard.translation.forcing import Forcing

if TYPE_CHECKING:
    from torch import Tensor

_MARKS = ".,;:!?…\"'“”„‘’«»()[]{}*_"


class Asked(NamedTuple):
    """A source, its translation, and the numbers of words of the source."""

    source: Said
    target: Said
    words: Sequence[int]


class Belonging:
    """Finds the words of translations."""

    def __init__(self, forced: Forcing, aligner: Aligner, tokenisers: Tokenisers) -> None:
        self._forced, self._aligner, self._tokenisers = forced, aligner, tokenisers

    def shares(self, asked: Sequence[Asked]) -> list[list[float]]:
        """For each, how much each word of the target belongs to the words of the source: [U], with the sum 1."""
        if not asked:
            return []
        looked = self._looked(asked)
        needed = self._needed(asked)
        return [_together(one, *both) for one, *both in zip(asked, looked, needed, strict=True)]

    def _looked(self, asked: Sequence[Asked]) -> list[list[float]]:
        """The share of the attention; nothing for a model without attention."""
        try:
            weights: Sequence[Tensor] = self._aligner.weights([(one.source, one.target) for one in asked])
        except SettingsError:
            return [[] for _ in asked]
        return [
            table[:, [word for word in one.words if word < table.size(1)]].sum(1).tolist()
            for one, table in zip(asked, weights, strict=True)
        ]

    def _needed(self, asked: Sequence[Asked]) -> list[list[float]]:
        """How much less likely each word is without the words of the source, in natural logarithms."""
        without = [self._tokenisers.source.encode(_without(one)) for one in asked]
        pairs = [(one.source.ids, one.target.ids) for one in asked]
        pairs += [(ids, one.target.ids) for ids, one in zip(without, asked, strict=True)]
        logprobs = self._forced.logprobs(pairs)
        drops = []
        for one, whole, partial in zip(asked, logprobs, logprobs[len(asked) :], strict=False):
            words = [0.0] * len(word_spans(one.target.text))
            numbers = word_numbers(self._tokenisers.target, one.target)
            for number, before, after in zip(numbers, whole, partial, strict=False):
                if 0 <= number < len(words):
                    words[number] += before - after
            drops.append([max(0.0, drop) for drop in words])
        return drops


def _without(asked: Asked) -> str:
    spans = word_spans(asked.source.text)
    kept = [asked.source.text[start:end] for n, (start, end) in enumerate(spans) if n not in asked.words]
    return " ".join(kept)


def _together(asked: Asked, looked: Sequence[float], needed: Sequence[float]) -> list[float]:
    said = [asked.target.text[start:end].strip(_MARKS) for start, end in word_spans(asked.target.text)]
    spans = word_spans(asked.source.text)
    meant = {asked.source.text[slice(*spans[word])].strip(_MARKS) for word in asked.words if word < len(spans)}
    same = [(len(word) > 1 and word in meant) / max(1, len(asked.words)) for word in said]
    shares = [_scaled(values, len(said)) for values in (looked, needed)]
    mixed = [0.4 * a + 0.6 * b for a, b in zip(*shares, strict=True)]
    return _scaled([share + copied for share, copied in zip(mixed, same, strict=True)], len(said))


def _scaled(values: Sequence[float], length: int) -> list[float]:
    padded = [*values, *[0.0] * (length - len(values))][:length]
    total = sum(padded)
    return [value / total for value in padded] if total > 0 else [0.0] * length


def best_run(shares: Sequence[float], allowed: Sequence[int], count: int) -> tuple[int, int] | None:
    """The neighbouring words, from and to, that say what `count` words of the source say; None if none is allowed.

    Each word must earn its place: a run with gaps is cut where the gap costs more than what lies behind it brings.
    """
    cost = 0.45 if count == 1 else 0.5 / (count + 1.5)
    best: tuple[float, int, int] | None = None
    total, start = 0.0, None
    for place, word in enumerate(allowed):
        broken = place > 0 and allowed[place - 1] != word - 1
        if start is None or broken or total <= 0:
            total, start = 0.0, word
        total += shares[word] - cost
        if best is None or total > best[0]:
            best = (total, start, word)
    return best and best[1:]
