"""Phrases that must not appear, and phrases that must.

Both are about words that continue a phrase: the last of a banned phrase, after the others; each of a required phrase,
after those before it.

Shapes: N sentences, W hypotheses, V vocabulary, T room for words, P phrases, M words of the longest,
C continuations, K candidates of a hypothesis.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from regard.search.hypotheses import NOTHING, Hypotheses
from regard.search.request import Phrase


class Continuations:
    """For each sentence, words and what comes before each."""

    def __init__(self, sentences: Sequence[Sequence[Phrase]], *, device: torch.device | str) -> None:
        self.looks_back = max((len(phrase) - 1 for phrases in sentences for phrase in phrases), default=0)
        before = [[(NOTHING,) * (self.looks_back + 1 - len(p)) + p[:-1] for p in phrases] for phrases in sentences]
        self._before = _tensor(before, width=self.looks_back, device=device)  # [N, C, M - 1]
        self._any = self._before == NOTHING
        words = _tensor([[phrase[-1:] for phrase in phrases] for phrases in sentences], width=1, device=device)[..., 0]
        self._real = words != NOTHING
        self.words = words.clamp(min=0)  # [N, C]

    def apply(self, hypotheses: Hypotheses) -> Tensor:
        """[N, W, C] True where the token would continue the hypothesis."""
        recent = hypotheses.recent(self.looks_back)
        matches = (recent[:, :, None] == self._before[:, None]) | self._any[:, None]
        return matches.all(-1) & self._real[:, None]


class BannedPhrases:
    """No hypothesis ever says one of its sentence's."""

    def __init__(self, sentences: Sequence[Sequence[Phrase]], *, device: torch.device | str) -> None:
        self._last_words = Continuations(sentences, device=device)

    def forbid(self, logits: Tensor, live: Hypotheses) -> None:
        """Takes the last words of banned phrases from logits, [N, W, V], in place."""
        applies = self._last_words.apply(live)
        words = self._last_words.words[:, None].expand_as(applies)
        nothing = torch.zeros(applies.shape, dtype=logits.dtype, device=logits.device)
        logits.scatter_add_(2, words, nothing.masked_fill(applies, -torch.inf))


class Progress(NamedTuple):
    """How far hypotheses are with their required phrases."""

    owed: Tensor  # [N, W] the words of all phrases that were not said yet
    words: Tensor  # [N, C] words of phrases
    logits: Tensor  # [N, W, C] of the word, where it begins or continues a phrase that is owed; -inf elsewhere
    reached: Tensor  # [N, C] how many tokens of its phrase are generated with this token

    def gained(self, tokens: Tensor) -> Tensor:
        """[N, W, K] tokens to say next -> how many required words stand then, up to what is the same for a sentence."""
        advances = self.logits > -torch.inf
        same = (tokens[..., None] == self.words[:, None, None]) & advances[:, :, None]
        return (same * self.reached[:, None, None]).amax(-1) - self.owed[..., None]


class RequiredPhrases:
    """Every hypothesis says each of its sentence's before it ends.

    Let a hypothesis owe phrases of o words in all, and let there be room for r more words. If r >= o - j, where the
    last j words begin a phrase that it owes, then saying the rest of that phrase and then the others fits. This is kept
    true: a word that brings a phrase to j words is allowed only if r - 1 >= o - j (with j = 0 for all other words).
    It is true at the start, since phrases for which there is no room are not asked for (`fitting`).
    """

    def __init__(self, sentences: Sequence[Sequence[Phrase]], *, device: torch.device | str) -> None:
        parts = [
            [(p[: j + 1], j + 1, number) for number, p in enumerate(phrases) for j in range(len(p))]
            for phrases in sentences
        ]
        self._continuations = Continuations([[part[0] for part in row] for row in parts], device=device)
        numbers = _tensor([[part[1:] for part in row] for row in parts], width=2, device=device).clamp(min=0)
        self._reached, self._phrase = numbers.unbind(-1)  # [N, C] each: words of the phrase, and which phrase
        longest = max((len(phrase) for phrases in sentences for phrase in phrases), default=1)
        padded = [[phrase + (NOTHING,) * (longest - len(phrase)) for phrase in phrases] for phrases in sentences]
        self._phrases = _tensor(padded, width=longest, device=device)  # [N, P, M]
        self._lengths = (self._phrases != NOTHING).sum(-1)

    def met(self, hypotheses: Hypotheses) -> Tensor:
        """[N, W, P] True where the hypothesis contains the phrase."""
        longest = self._phrases.size(2)
        spans = F.pad(hypotheses.tokens, (0, longest - 1), value=NOTHING).unfold(2, longest, 1)  # [N, W, T, M]
        phrases = self._phrases[:, None, None]
        return ((spans[:, :, :, None] == phrases) | (phrases == NOTHING)).all(-1).any(2)

    def progress(self, logits: Tensor, live: Hypotheses) -> Progress:
        """How far the hypotheses are, and the logits of the words that bring them further."""
        open_phrases = ~self.met(live) & (self._lengths > 0)[:, None]
        phrase = self._phrase[:, None].expand(-1, live.total.size(1), -1)
        applies = self._continuations.apply(live) & open_phrases.gather(2, phrase)
        words = self._continuations.words
        return Progress(
            owed=(open_phrases * self._lengths[:, None]).sum(-1),
            words=words,
            logits=logits.gather(2, words[:, None].expand_as(applies)).masked_fill(~applies, -torch.inf),
            reached=self._reached,
        )

    def forbid(self, logits: Tensor, progress: Progress, *, room: Tensor, end: int, at_end: bool) -> None:
        """Takes what would leave no room for the phrases that are owed from logits, [N, W, V], in place.

        `room` [N, W] is for how many more words there is room. With `at_end`, a hypothesis that would end now must go
        on with what it owes: without rivals, nothing would make it say a phrase before there is room for nothing else.
        """
        owes, reached = progress.owed > 0, progress.reached[:, None] * (progress.logits > -torch.inf)
        if at_end:
            furthest = reached.amax(-1)
            ends = (furthest > 0) & (logits[..., end] >= logits.amax(-1))
            room = torch.where(ends, progress.owed + 1 - furthest, room)
        words = progress.words[:, None].expand_as(reached)
        fits = room[..., None] - 1 >= progress.owed[..., None] - reached
        logits.masked_fill_((owes & (room - 1 < progress.owed))[..., None], -torch.inf)
        logits.scatter_reduce_(2, words, progress.logits.masked_fill(~fits, -torch.inf), "amax")
        logits[..., end].masked_fill_(owes, -torch.inf)


def fitting(phrases: Sequence[Phrase], room: int) -> list[Phrase]:
    """The first of the phrases, each once, for which there is room one after the other."""
    chosen: list[Phrase] = []
    for phrase in dict.fromkeys(phrases):
        if len(phrase) <= room:
            chosen.append(phrase)
            room -= len(phrase)
    return chosen


def _tensor(sentences: Sequence[Sequence[Phrase]], *, width: int, device: torch.device | str) -> Tensor:
    """[N, P, width], with NOTHING where a sentence has fewer phrases than another."""
    most = max(map(len, sentences), default=0)
    empty = (NOTHING,) * width
    padded = [[*phrases, *[empty] * (most - len(phrases))] for phrases in sentences]
    return torch.tensor(padded, dtype=torch.long, device=device).view(len(sentences), most, width)
