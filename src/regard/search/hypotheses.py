"""Hypotheses in tensors: those that are alive, and those that have ended.

Shapes: N sentences, W hypotheses of each, T room for their words. A place without a hypothesis has a total of -inf.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

NOTHING = -1  # where no token was generated


class Hypotheses(NamedTuple):
    """The tokens generated so far, and their log-probabilities."""

    tokens: Tensor  # [N, W, T], then NOTHING
    logprobs: Tensor  # [N, W, T] of each token
    length: Tensor  # [N, W] tokens said
    total: Tensor  # [N, W] the sum of the log-probabilities
    guarded: Tensor  # [N, W] True where the guard against repetition stepped in

    @classmethod
    def none(cls, sentences: int, width: int, *, room: int, device: torch.device | str) -> Hypotheses:
        """Places for hypotheses, without any."""
        shape = (sentences, width)
        return cls(
            tokens=torch.full((*shape, room), NOTHING, device=device),
            logprobs=torch.zeros((*shape, room), device=device),
            length=torch.zeros(shape, dtype=torch.long, device=device),
            total=torch.full(shape, -torch.inf, device=device),
            guarded=torch.zeros(shape, dtype=torch.bool, device=device),
        )

    @property
    def exist(self) -> Tensor:
        """[N, W] True where there is a hypothesis."""
        return self.total > -torch.inf

    def only(self, where: Tensor) -> Hypotheses:
        """Those where [N, W] says so; the other places are empty."""
        return self._replace(total=self.total.masked_fill(~where, -torch.inf))

    def keep(self, sentences: Tensor) -> Hypotheses:
        """Those of these sentences, in this order."""
        return Hypotheses(*(field[sentences] for field in self))

    def pick(self, places: Tensor) -> Hypotheses:
        """[N, K] -> for each sentence, those at its K places."""
        width = self.total.size(1)
        rows = (torch.arange(len(places), device=places.device)[:, None] * width + places).flatten()
        shape = places.shape
        return Hypotheses(*(field.flatten(0, 1).index_select(0, rows).view(*shape, *field.shape[2:]) for field in self))

    def replaced(self, where: Tensor, others: Hypotheses) -> Hypotheses:
        """The others where [N, W] says so."""
        words = where[:, :, None]
        return Hypotheses(
            *(
                torch.where(words if field.dim() == 3 else where, other, field)
                for field, other in zip(self, others, strict=True)
            )
        )

    def beside(self, others: Hypotheses) -> Hypotheses:
        """[N, W + W'] both, of the same sentences."""
        return _joined(self, others, 1)

    def above(self, others: Hypotheses) -> Hypotheses:
        """[N + N', W] both, of different sentences."""
        return _joined(self, others, 0)

    def put(self, sentences: Tensor, others: Hypotheses) -> Hypotheses:
        """The others in the places of these sentences."""
        room = max(self.tokens.size(2), others.tokens.size(2))
        ours, theirs = _with_room(self, room), _with_room(others, room)
        fields = zip(ours, theirs, strict=True)
        return Hypotheses(*(field.index_copy(0, sentences, new.to(field.dtype)) for field, new in fields))

    def clear(self, sentences: Tensor) -> None:
        """No hypotheses of these sentences any more, in the same tensors."""
        for field, value in zip(self, (NOTHING, 0.0, 0, -torch.inf, False), strict=True):
            field.index_fill_(0, sentences, value)

    def say(self, tokens: Tensor, logprobs: Tensor) -> Hypotheses:
        """Each with one more token; both are [N, W]."""
        total = self.total + logprobs
        room = self.tokens.size(2)  # a free place may go on and on, but not beyond
        place = self.length[:, :, None].clamp(max=room - 1)
        return self._replace(
            tokens=self.tokens.scatter(2, place, tokens[:, :, None]),
            logprobs=self.logprobs.to(total.dtype).scatter(2, place, logprobs[:, :, None].to(total.dtype)),
            length=(self.length + 1).clamp(max=room),
            total=total,
        )

    def recent(self, count: int) -> Tensor:
        """[N, W, count] the tokens said last; NOTHING before the first."""
        places = self.length[:, :, None] - torch.arange(count, 0, -1, device=self.length.device)
        return self.tokens.gather(2, places.clamp(min=0)).masked_fill(places < 0, NOTHING)


def _joined(one: Hypotheses, other: Hypotheses, dimension: int) -> Hypotheses:
    room = max(one.tokens.size(2), other.tokens.size(2))
    one, other = _with_room(one, room), _with_room(other, room)
    return Hypotheses(*(torch.cat(fields, dimension) for fields in zip(one, other, strict=True)))


def _with_room(hypotheses: Hypotheses, room: int) -> Hypotheses:
    more = room - hypotheses.tokens.size(2)
    return hypotheses._replace(
        tokens=F.pad(hypotheses.tokens, (0, more), value=NOTHING), logprobs=F.pad(hypotheses.logprobs, (0, more))
    )
