"""Which word of the source a word of the translation comes from, read from the decoder's attention.

The attention of the step that says a piece is taken. The weights of a word are the sums of its pieces' weights; the
ends do not count. A word of the translation is linked to the word of the source that has the most.

Shapes: T pieces and U words of the target, S pieces and W words of the source.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from regard.text.word_spans import has_unspaced, word_spans
from regard.tokens import Tokenisers
from regard.tokens.reversal import Reversed
from regard.tokens.tokeniser import Tokeniser
from regard.translation.forcing import Forcing
from regard.translation.translation import Alignment

if TYPE_CHECKING:
    from torch import Tensor


class Said(NamedTuple):
    """A text and its ids."""

    text: str
    ids: Sequence[int]


class Aligner:
    """Aligns the words of sources and translations."""

    def __init__(self, forced: Forcing, tokenisers: Tokenisers) -> None:
        self._forced, self._tokenisers = forced, tokenisers

    def align(self, pairs: Sequence[tuple[Said, Said]]) -> list[Alignment]:
        """For each pair the linked words, (source, target), in the order of the target."""
        attention = self._forced.attention([(source.ids, target.ids) for source, target in pairs])
        return [
            linked(
                weights[:-1, :-1],
                word_numbers(self._tokenisers.source, source),
                word_numbers(self._tokenisers.target, target),
            )
            for weights, (source, target) in zip(attention, pairs, strict=True)
        ]

    def weights(self, pairs: Sequence[tuple[Said, Said]]) -> list[Tensor]:
        """For each pair, how much each word of the target looked at each word of the source: [U, W]."""
        attention = self._forced.attention([(source.ids, target.ids) for source, target in pairs])
        return [
            _summed(
                weights[:-1, :-1],
                word_numbers(self._tokenisers.source, source),
                word_numbers(self._tokenisers.target, target),
            )
            for weights, (source, target) in zip(attention, pairs, strict=True)
        ]


def linked(weights: Tensor, source_words: Sequence[int], target_words: Sequence[int]) -> Alignment:
    """The links of words, from the weights of pieces, [T, S], and the number of each piece's word; -1 is no word."""
    if not source_words or not target_words or not weights.numel():  # a model may say nothing
        return ()
    best = _summed(weights, source_words, target_words).argmax(1).tolist()
    return tuple((best[word], word) for word in sorted(set(target_words)) if word >= 0)


def _summed(weights: Tensor, source_words: Sequence[int], target_words: Sequence[int]) -> Tensor:
    """The weights of words, [U, W]: the sums of those of their pieces."""
    import torch

    sums = torch.zeros(max(target_words, default=-1) + 1, max(source_words, default=-1) + 1)
    rows, columns = torch.tensor(target_words), torch.tensor(source_words)
    places = torch.cartesian_prod(torch.arange(len(rows))[rows >= 0], torch.arange(len(columns))[columns >= 0])
    if len(places):
        t, s = places.unbind(1)
        sums.index_put_((rows[t], columns[s]), weights[t, s].float(), accumulate=True)
    return sums


def word_numbers(tokeniser: Tokeniser, said: Said) -> list[int]:
    """The number of each piece's word in the text; -1 for a piece that is white space alone."""
    if isinstance(tokeniser, Reversed):
        return word_numbers(tokeniser.forwards, Said(said.text, said.ids[::-1]))[::-1]
    spans = word_spans(said.text)
    if not has_unspaced(said.text):
        numbers = [number - 1 for number in accumulate(map(int, tokeniser.word_starts(said.ids)))]
        if numbers and numbers[-1] + 1 == len(spans):
            return numbers
    return [_word_at(spans, start, end) for start, end in _places(tokeniser, said)]


def _places(tokeniser: Tokeniser, said: Said) -> list[tuple[int, int]]:
    """Which characters each piece stands for, from what longer and longer beginnings decode to.

    Bytes that do not make a character yet stand for the one that they begin.
    """
    places, end = [], 0
    for count in range(1, len(said.ids) + 1):
        start, end = end, max(end, len(tokeniser.decode(said.ids[:count]).rstrip("\ufffd")))
        places.append((start, max(end, start + 1)))
    return places


def _word_at(spans: Sequence[tuple[int, int]], start: int, end: int) -> int:
    """The first word that has some of these characters."""
    for number, (first, last) in enumerate(spans):
        if first < end and start < last:
            return number
    return -1
