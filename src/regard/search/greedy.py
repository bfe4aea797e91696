"""Greedy search: always the likeliest word.

Shapes: N sentences, W hypotheses, V vocabulary.
"""

from __future__ import annotations

import torch
from torch import Tensor

from regard.search.hypotheses import Hypotheses
from regard.search.rules import Offer
from regard.search.search import Search


class Greedy(Search):
    """Hypotheses that go their own way, each until it ends. Greedy search has one; sampling picks otherwise."""

    width = 1
    has_rivals = False
    may_stay_in_place = True

    def start(self, hypotheses: Hypotheses) -> Hypotheses:
        """All of them."""
        return hypotheses._replace(total=torch.zeros_like(hypotheses.total))

    def pick(self, logits: Tensor) -> Tensor:
        """[N, W, V] -> [N, W] a word for each hypothesis: of equals, the lowest."""
        return logits.argmax(-1)

    def choose(self, offer: Offer) -> tuple[Tensor, None]:
        """Each hypothesis says what is picked; where nothing may be said, it ends."""
        tokens = self.pick(offer.logits)
        logits = offer.logits.gather(2, tokens[..., None])[..., 0]
        nothing, guarded = logits == -torch.inf, offer.withheld > logits
        if offer.must_end is not None:
            nothing, guarded = nothing | offer.must_end, guarded & ~offer.must_end
        tokens, logits = tokens.masked_fill(nothing, self.end), torch.where(nothing, offer.end, logits)
        live = self.live._replace(guarded=self.live.guarded | guarded)
        said = live.say(tokens, (logits - offer.reading.normaliser).clamp(max=0))
        ended = tokens == self.end
        self.finished = self.finished.replaced(ended & said.exist, said)
        self.live = said.only(~ended)
        return tokens, None


SEARCH = Greedy
