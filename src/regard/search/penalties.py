"""One beam search for several length penalties: the best hypothesis by each, exactly as a search of its own finds it.

Which hypotheses go on does not depend on the length penalty (`beam.py`). It decides only which finished one is the best
and when the search may stop. So one search keeps the best for each penalty, and stops when all are known.

Shapes: N sentences, W hypotheses of each, V vocabulary, K candidates of each hypothesis, P penalties.
"""

from __future__ import annotations

import torch
from torch import Tensor

from regard.search.beam import Beam, Candidates
from regard.search.hypotheses import Hypotheses
from regard.search.length import length_penalty
from regard.search.search_settings import SearchSettings

PENALTIES = (0.0, 0.3, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6)


def settings(*, beam_size: int = 4) -> SearchSettings:
    """The settings of this search; the hypotheses of a result stand in the order of PENALTIES."""
    return SearchSettings(method="penalties", beam_size=beam_size, n_best=len(PENALTIES))


class Penalties(Beam):
    """Beam search with the best finished hypothesis for each penalty."""

    may_stay_in_place = False

    def __init__(self, settings: SearchSettings, *, begin: int, end: int, device: torch.device | str = "cpu") -> None:
        assert settings.n_best == len(PENALTIES), "one hypothesis for each penalty"
        super().__init__(settings, begin=begin, end=end, device=device)

    def done(self) -> Tensor:
        """[N] True where no live hypothesis can still become the best by any penalty."""
        if not self.settings.early_stop:
            return super().done()
        longest = self.limits[:, None] + 1
        reachable = [(self.live.total / length_penalty(longest, alpha)).amax(1) for alpha in PENALTIES]
        return (_own_scores(self.finished) >= torch.stack(reachable, dim=1)).all(1)

    def _end(self, candidates: Candidates, ends: Tensor) -> None:
        """Where [N, W * K] says so, candidates end; each penalty keeps the best of its own one and of these."""
        order = (~ends).to(torch.uint8).argsort(dim=1, stable=True)[:, : self.width]
        chosen = candidates.pick(order)
        ended = self.live.pick(chosen.places).say(chosen.tokens, chosen.logprobs).only(ends.gather(1, order))
        theirs = torch.stack([ended.total / length_penalty(ended.length, alpha) for alpha in PENALTIES], dim=1)
        rivals = torch.cat([_own_scores(self.finished)[..., None], theirs], dim=2)  # [N, P, 1 + W]
        first = rivals.argsort(dim=2, descending=True, stable=True)[..., 0]  # of equals, the earlier
        own = torch.arange(len(PENALTIES), device=first.device).expand_as(first)
        places = torch.where(first == 0, own, len(PENALTIES) - 1 + first)
        self.finished = self.finished.beside(ended).pick(places)


def _own_scores(finished: Hypotheses) -> Tensor:
    """[N, P] of each hypothesis by its own penalty."""
    scores = [finished.total[:, n] / length_penalty(finished.length[:, n], alpha) for n, alpha in enumerate(PENALTIES)]
    return torch.stack(scores, dim=1)


SEARCH = Penalties
