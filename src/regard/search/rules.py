"""What the sentences that are searched may say next: all that limits a search beside the model itself.

Shapes: N sentences, W hypotheses, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from regard.search.hypotheses import Hypotheses
from regard.search.length import limit
from regard.search.phrases import BannedPhrases, Progress, RequiredPhrases, fitting
from regard.search.probabilities import Reading, read
from regard.search.repetition import RepetitionGuard
from regard.search.request import Phrase, Request
from regard.search.search_settings import SearchSettings


@dataclass(slots=True)
class Sentence:
    """One that is being searched."""

    request: Request
    began: int  # the search's clock at its beginning: since then, each of its hypotheses has said a token at each tick
    limit: int  # the most words
    required: Sequence[Phrase]  # those for which there is room

    @classmethod
    def of(cls, request: Request, settings: SearchSettings, *, began: int) -> Sentence:
        """At its beginning."""
        most = limit(request, settings)
        required = fitting(request.required, most - len(request.prefix)) if request.required else ()
        return cls(request, began, most, required)

    @property
    def last(self) -> int:
        """The clock when nothing is left to say but the end."""
        return self.began + self.limit


class Offer(NamedTuple):
    """What may be said next."""

    logits: Tensor  # [N, W, V], -inf for what may not
    reading: Reading  # of the model's own logits: what is forbidden takes its probability with it
    forbidden: int | None  # at most so many words of each hypothesis; None: any number
    end: Tensor  # [N, W] the model's own logit of the end, which is all that is left if nothing may be said
    withheld: Tensor  # [N, W] the highest logit that the guard against repetition took away; -inf if none
    progress: Progress | None  # with the required phrases, if any sentence has some
    must_end: Tensor | None  # [N, W] True where nothing but the end may be said; None: the logits say so already


class Rules:
    """The rules for N sentences side by side."""

    def __init__(
        self,
        sentences: Sequence[Sentence | None],
        *,
        limits: Tensor,
        settings: SearchSettings,
        end: int,
        at_end: bool,
        on_device: bool,
        device: torch.device,
    ) -> None:
        self._limits, self._end, self._at_end, self._on_device = limits, end, at_end, on_device
        there = [(n, sentence) for n, sentence in enumerate(sentences) if sentence]
        self._began = min((sentence.began for _, sentence in there), default=0)
        self._prefixed = [(n, sentence) for n, sentence in there if sentence.request.prefix]
        self._ending: dict[int, list[int]] = {}  # by the clock when they must, the places of the sentences
        for n, sentence in there:
            self._ending.setdefault(sentence.last, []).append(n)
        self._minimum = settings.min_length
        self._forbidden = settings.repetition_cycle + bool(settings.min_length) if on_device else None
        banned = [sentence.request.banned if sentence else () for sentence in sentences]
        required = [sentence.required if sentence else () for sentence in sentences]
        self._banned = BannedPhrases(banned, device=device) if any(banned) else None
        self._required = RequiredPhrases(required, device=device) if any(required) else None
        self._guard = (
            RepetitionGuard(cycle=settings.repetition_cycle, copies=settings.repetition_copies, device=device)
            if settings.repetition_cycle
            else None
        )

    def offer(self, logits: Tensor, live: Hypotheses, *, clock: int) -> Offer:
        """What may be said after the live hypotheses; forbids the rest in place."""
        reading, end = read(logits), logits[..., self._end].clone()
        forced = None if self._on_device else self._forced(logits, clock)
        if self._banned:
            self._banned.forbid(logits, live)
        progress = self._required.progress(logits, live) if self._required else None
        withheld = torch.full_like(end, -torch.inf)
        if self._guard and (self._on_device or clock - self._began >= self._guard.copies):
            withheld = self._guard.forbid(logits, live.recent(self._guard.looks_back))
        if self._required and progress:
            self._required.forbid(
                logits, progress, room=self._limits[:, None] - live.length, end=self._end, at_end=self._at_end
            )
        if self._minimum:
            logits[..., self._end].masked_fill_(live.length < self._minimum, -torch.inf)
        if forced:
            forced.apply(logits, withheld)
        must_end = live.length == self._limits[:, None] if self._on_device else None
        return Offer(logits, reading, self._forbidden, end, withheld, progress, must_end)

    def _forced(self, logits: Tensor, clock: int) -> _Forced | None:
        words = dict.fromkeys(self._ending.get(clock, ()), self._end)
        for n, sentence in self._prefixed:
            if clock - sentence.began < len(sentence.request.prefix):
                words[n] = sentence.request.prefix[clock - sentence.began]
        if not words:
            return None
        places = torch.tensor([*words.keys()], device=logits.device)
        chosen = torch.tensor([*words.values()], device=logits.device)
        return _Forced(places, chosen, logits[places, :, chosen])


class _Forced(NamedTuple):
    """Sentences that may say one thing only, whatever else is forbidden: their prefix, or at their limit the end."""

    sentences: Tensor  # [any] their places among the N
    words: Tensor  # [any]
    logits: Tensor  # [any, W] the model's own

    def apply(self, logits: Tensor, withheld: Tensor) -> None:
        logits[self.sentences] = -torch.inf
        logits[self.sentences, :, self.words] = self.logits
        withheld[self.sentences] = -torch.inf
