"""Beam search (section 6.1): the best few hypotheses go on together.

Shapes: N sentences, W hypotheses of each, V vocabulary, K candidates of each hypothesis.
"""

from __future__ import annotations

from types import ModuleType
from typing import NamedTuple

import torch
from torch import Tensor

from regard.kernels import trusted
from regard.search.hypotheses import Hypotheses
from regard.search.length import length_penalty
from regard.search.phrases import Progress
from regard.search.probabilities import best
from regard.search.rules import Offer
from regard.search.search import Search
from regard.search.search_settings import SearchSettings


class Candidates(NamedTuple):
    """Hypotheses with one more word, the likeliest first, all [N, W * K]."""

    places: Tensor  # the hypothesis
    tokens: Tensor  # the word
    logprobs: Tensor  # of the word
    totals: Tensor  # of both; -inf: not a candidate
    ranks: Tensor  # from 0; with required phrases, among those that have said as much of them

    def pick(self, order: Tensor) -> Candidates:
        """[N, any] those at these places."""
        return Candidates(*(field.gather(1, order) for field in self))


class Beam(Search):
    """At each step, the likeliest words after each hypothesis compete; the best W that do not end go on.

    A hypothesis ends when its end is among the best W. Twice as many candidates as hypotheses are looked at, so that
    those that end leave enough to go on with.
    """

    has_rivals = True
    may_stay_in_place = True

    def __init__(self, settings: SearchSettings, *, begin: int, end: int, device: torch.device | str = "cpu") -> None:
        self.width = settings.beam_size
        self._penalties: Tensor | None = None  # [T + 2] of each length, where the search stays in place
        super().__init__(settings, begin=begin, end=end, device=device)

    def start(self, hypotheses: Hypotheses) -> Hypotheses:
        """One: all would be the same."""
        first = torch.arange(self.width, device=self.device) == 0
        return hypotheses._replace(total=hypotheses.total.masked_fill(first, 0.0))

    def reserve(self, places: int, *, room: int | None = None) -> None:
        """So many free places. What a captured step reads stays where it is as long as the room is the same."""
        super().reserve(places, room=room)
        if room is None:
            self._penalties = None
        elif self._penalties is None or len(self._penalties) != room + 2:
            lengths = torch.arange(room + 2, device=self.device)
            self._penalties = length_penalty(lengths, self.settings.length_penalty)

    def move(self, logits: Tensor) -> Tensor | None:
        """The part of a step that computes; on a GPU in two kernels, where all tensors stay where they are."""
        kernel = _kernel(logits) if self._penalties is not None else None
        if kernel is None or not kernel.fits(logits, self.live):
            return super().move(logits)
        settings = self.settings
        rules = kernel.Rules(
            end=self.end,
            minimum=settings.min_length,
            cycle=settings.repetition_cycle,
            copies=settings.repetition_copies,
            early_stop=settings.early_stop,
        )
        rows: Tensor = kernel.move(
            logits,
            rules,
            self.live,
            self.finished,
            limits=self.limits,
            penalties=self._penalties,
            said=self.tokens,
            over=self.over,
        )
        return rows

    def choose(self, offer: Offer) -> tuple[Tensor, Tensor]:
        """The best candidates go on or end."""
        candidates = self._candidates(offer)
        ends = candidates.tokens == self.end
        self._end(candidates, ends & (candidates.ranks < self.width))
        never = ends | (candidates.totals == -torch.inf)
        order = candidates.ranks.masked_fill(never, never.size(1)).argsort(dim=1, stable=True)[:, : self.width]
        chosen = candidates.pick(order)
        self.live = self.live.pick(chosen.places).say(chosen.tokens, chosen.logprobs).only(chosen.tokens != self.end)
        return chosen.tokens, chosen.places

    def done(self) -> Tensor:
        """[N] True where no live hypothesis can still become one of the n best.

        Its log-probability t <= 0 never rises, and the penalty never falls. So if it ends later, with t' <= t and with
        at most as many words as the limit allows, it scores t' / penalty(its length) <= t / penalty(the longest).
        Where that is no more than the score of the last of n finished ones, it comes behind them: of equals,
        the earlier stands first.
        """
        if not self.settings.early_stop:
            return super().done()
        reachable = self.live.total / length_penalty(self.limits[:, None] + 1, self.settings.length_penalty)
        return self._scores(self.finished)[:, -1] >= reachable.amax(1)

    def _candidates(self, offer: Offer) -> Candidates:
        logits, tokens = self._best(offer)
        guarded = offer.withheld > logits[..., 0]
        if offer.must_end is not None:
            logits.masked_fill_(offer.must_end[..., None], -torch.inf)
            logits[..., 0] = torch.where(offer.must_end, offer.end, logits[..., 0])
            tokens[..., 0] = tokens[..., 0].masked_fill(offer.must_end, self.end)
            guarded = guarded & ~offer.must_end
        self.live = self.live._replace(guarded=self.live.guarded | guarded)
        nothing = ~((logits[..., 0] > -torch.inf) & self.live.exist).any(1) & ~self.finished.exist.any(1)
        logits[..., 0] = torch.where(nothing[:, None], offer.end, logits[..., 0])
        tokens[..., 0] = tokens[..., 0].masked_fill(nothing[:, None], self.end)
        if offer.progress:
            logits, tokens = _with_required(logits, tokens, offer.progress, offer.logits)
        logprobs = (logits - offer.reading.normaliser[..., None]).clamp(max=0)
        totals, order = (self.live.total[..., None] + logprobs).flatten(1).sort(dim=1, descending=True, stable=True)
        ranks = torch.arange(order.size(1), device=order.device).expand_as(order)
        if offer.progress:
            ranks = _ranks_among_equals(offer.progress.gained(tokens).flatten(1).gather(1, order))
        places, tokens, logprobs = order // tokens.size(2), tokens.flatten(1), logprobs.flatten(1)
        return Candidates(places, tokens.gather(1, order), logprobs.gather(1, order), totals, ranks)

    def _best(self, offer: Offer) -> tuple[Tensor, Tensor]:
        """[N, W, K] the likeliest words of each hypothesis that may be said, and their logits before them."""
        count = min(2 * self.width, offer.logits.size(2))
        if offer.forbidden is None:
            return best(offer.logits, count)
        return best(offer.logits, count, maxima=offer.reading.maxima, forbidden=offer.forbidden)

    def _end(self, candidates: Candidates, ends: Tensor) -> None:
        """The candidates where [N, W * K] says so end; the best of them and of those that ended before are kept."""
        order = (~ends).to(torch.uint8).argsort(dim=1, stable=True)[:, : self.width]
        chosen = candidates.pick(order)
        ended = self.live.pick(chosen.places).say(chosen.tokens, chosen.logprobs).only(ends.gather(1, order))
        rivals = self.finished.beside(ended)
        order = self._scores(rivals).argsort(dim=1, descending=True, stable=True)
        self.finished = rivals.pick(order[:, : self.settings.n_best])

    def _scores(self, hypotheses: Hypotheses) -> Tensor:
        return hypotheses.total / length_penalty(hypotheses.length, self.settings.length_penalty)


def _kernel(logits: Tensor) -> ModuleType | None:
    """What moves all hypotheses on in two kernels, if it works here."""
    reads = logits.is_cuda and logits.dtype != torch.float64 and trusted("logit_reading")
    return trusted("beam_step") if reads else None


def _with_required(logits: Tensor, tokens: Tensor, progress: Progress, offered: Tensor) -> tuple[Tensor, Tensor]:
    """[N, W, K] candidates -> the same and, however unlikely, the words that required phrases go on with, each once.

    `offered` [N, W, V] are the logits of what may be said.
    """
    words, advances = progress.words[:, None].expand_as(progress.logits), progress.logits > -torch.inf
    among_candidates = (words[..., None] == tokens[:, :, None]).any(-1)
    again = ((words[..., None] == words[:, :, None]) & advances[:, :, None]).tril(-1).any(-1)
    more = offered.gather(2, words).masked_fill(~advances | among_candidates | again, -torch.inf)
    return torch.cat([logits, more], 2), torch.cat([tokens, words], 2)


def _ranks_among_equals(keys: Tensor) -> Tensor:
    """[N, any] -> for each, how many with the same key stand before it."""
    return (keys[:, :, None] == keys[:, None]).tril(-1).sum(-1)


SEARCH = Beam
