"""Sampling: words are drawn by their probability, sharpened by a temperature, from the likeliest ones if so asked.

Each draw takes one number from a stream of the sentence's own: a hash of the seed, the request's number, the sample and
the step. So samples depend on no neighbour, no order and no batch size, and those of one sentence are independent.

Shapes: N sentences, W samples of each, V vocabulary, K words that may be drawn.
"""

from __future__ import annotations

import torch
from torch import Tensor

from regard.search.greedy import Greedy
from regard.search.probabilities import best
from regard.search.search_settings import SearchSettings

_BITS = 23  # of a drawn number: one less than a float has, so that its product with a sum stays below the sum


class Sampling(Greedy):
    """`n_best` independent samples of each sentence."""

    def __init__(self, settings: SearchSettings, *, begin: int, end: int, device: torch.device | str = "cpu") -> None:
        self.width = settings.n_best
        super().__init__(settings, begin=begin, end=end, device=device)

    def pick(self, logits: Tensor) -> Tensor:
        """[N, W, V] -> [N, W] a word drawn for each sample."""
        words, logits = self.candidates(logits)
        shares = (logits.float() / self.settings.temperature).softmax(-1)
        if self.settings.top_p < 1:
            likelier = shares.cumsum(-1) - shares
            shares = shares.masked_fill(likelier >= self.settings.top_p, 0.0)
        sums = shares.cumsum(-1)
        targets = self.draws()[..., None] * sums[..., -1:]
        drawn = torch.searchsorted(sums, targets, right=True).clamp(max=sums.size(-1) - 1)
        return (drawn if words is None else words.gather(2, drawn))[..., 0]

    def candidates(self, logits: Tensor) -> tuple[Tensor | None, Tensor]:
        """[N, W, K] the words that may be drawn, the likeliest first, and their logits; None: all, as they stand."""
        if self.settings.top_k is not None and self.settings.top_k < logits.size(-1):
            values, words = best(logits, self.settings.top_k)
            return words, values
        if self.settings.top_p < 1:
            values, words = logits.sort(dim=-1, descending=True, stable=True)
            return words, values
        return None, logits

    def draws(self) -> Tensor:
        """[N, W] in [0, 1)."""
        seed = _mixed(torch.full_like(self.numbers, self.settings.seed))
        streams = _mixed(_mixed(seed + self.numbers)[:, None] + torch.arange(self.width, device=self.device))
        return _shifted(_mixed(streams + self.live.length), 64 - _BITS) / 2.0**_BITS


_ODD = -7046029254386353131  # 2^64 / golden ratio, as a signed number


def _mixed(numbers: Tensor) -> Tensor:
    """Numbers of 64 bits, each bit of which depends on all bits of the input (the finaliser of splitmix64)."""
    numbers = numbers + _ODD
    numbers = (numbers ^ _shifted(numbers, 30)) * -4658895280553007687
    numbers = (numbers ^ _shifted(numbers, 27)) * -7723592293110705685
    return numbers ^ _shifted(numbers, 31)


def _shifted(numbers: Tensor, by: int) -> Tensor:
    """To the right, zeros coming in from the left."""
    return (numbers >> by) & ((1 << (64 - by)) - 1)


SEARCH = Sampling
