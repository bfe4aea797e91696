"""What every search is: sentences enter, logits come in, words go out, and sentences leave with their results.

A search does the bookkeeping and is driven from outside (`driver.py` is the simplest driver). It knows no model.
Sentences may enter at any time and leave as soon as they are finished; no result depends on a sentence's neighbours.

Shapes: N sentences, W = width hypotheses of each, V vocabulary; N * W rows, those of one sentence side by side.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from regard.errors import RegardError, SettingsError
from regard.search.hypotheses import Hypotheses
from regard.search.length import length_penalty
from regard.search.request import Hypothesis, Request, Result, contains
from regard.search.rules import Offer, Rules, Sentence
from regard.search.settings import SearchSettings


@dataclass(frozen=True)
class Decision:
    """What a search decided. A driver first lets the finished sentences leave, then reorders the rows of the others."""

    finished: dict[int, Result]  # by the place that the sentence had among the N
    going: Tensor  # [N'] the places of those that go on; they close ranks
    rows: Tensor | None  # [N' * W] which of their rows each row continues; None: each continues itself
    tokens: Tensor  # [N' * W] what each row says next


class Search(ABC):
    """The hypotheses of N sentences. A kind of search says how they go on."""

    width: int  # hypotheses of a sentence
    has_rivals: bool  # whether a sentence's hypotheses compete

    def __init__(self, settings: SearchSettings, *, begin: int, end: int, device: torch.device | str = "cpu") -> None:
        self.settings, self.begin, self.end, self.device = settings, begin, end, torch.device(device)
        self.sentences: list[Sentence] = []
        self.live = Hypotheses.none(0, self.width, room=0, device=self.device)
        self.finished = Hypotheses.none(0, settings.n_best, room=0, device=self.device)  # the best of each sentence
        self._regroup()

    @abstractmethod
    def choose(self, offer: Offer) -> tuple[Tensor, Tensor | None]:
        """Moves `live` and `finished` on; gives tokens and places, [N, W]: what each says, and which each continues."""

    @abstractmethod
    def start(self, hypotheses: Hypotheses) -> Hypotheses:
        """The hypotheses, [N, W], with which new sentences start, made from empty places."""

    def done(self) -> Tensor:
        """[N] True where a sentence's results are known."""
        return ~self.live.exist.any(1)

    @torch.inference_mode()
    def admit(self, requests: Sequence[Request]) -> Tensor:
        """Sentences enter, behind those that are there. Gives what their rows say first: [number of requests * W]."""
        for request in requests:
            if any(self.end in phrase for phrase in (request.prefix, *request.banned, *request.required)):
                raise SettingsError(f"A phrase contains {self.end}, which ends a sentence.\n  Leave it out.")
        entering = [Sentence.of(request, self.settings) for request in requests]
        room = max((sentence.limit + 1 for sentence in entering), default=0)
        places = Hypotheses.none(len(entering), self.width, room=room, device=self.device)
        self.live = self.live.above(self.start(places))
        places = Hypotheses.none(len(entering), self.settings.n_best, room=room, device=self.device)
        self.finished = self.finished.above(places)
        self.sentences = [*self.sentences, *entering]
        self._regroup()
        return torch.full((len(entering) * self.width,), self.begin, device=self.device)

    @torch.inference_mode()
    def advance(self, logits: Tensor) -> Decision:
        """One step on, from the logits after what was said last: [N * W, V], which are overwritten.

        The host waits for the device once, at `done`; again only for a prefix or where sentences finish.
        """
        offer = self._rules.offer(logits.view(len(self.sentences), self.width, -1), self.live)
        tokens, places = self.choose(offer)
        for sentence in self.sentences:
            sentence.step += 1
        done = [
            is_done or sentence.step > sentence.limit
            for is_done, sentence in zip(self.done().tolist(), self.sentences, strict=True)
        ]
        leaving = [n for n, is_done in enumerate(done) if is_done]
        going, results = torch.arange(len(done), device=self.device), {}
        if leaving:
            going = torch.tensor([n for n in range(len(done)) if not done[n]], dtype=torch.long, device=self.device)
            results = self._leave(leaving, going)
            tokens, places = tokens[going], None if places is None else places[going]
        first_rows = torch.arange(len(going), device=self.device)[:, None] * self.width
        rows = None if places is None else (places + first_rows).flatten()
        return Decision(results, going, rows, tokens.flatten())

    def _leave(self, leaving: list[int], going: Tensor) -> dict[int, Result]:
        hypotheses = self.finished.keep(torch.tensor(leaving, device=self.device))
        score = hypotheses.total / length_penalty(hypotheses.length, self.settings.length_penalty)
        table = zip(*(field.tolist() for field in (*hypotheses, score)), strict=True)
        results = {
            n: _result(self.sentences[n], list(zip(*fields, strict=True)), self.settings)
            for n, fields in zip(leaving, table, strict=True)
        }
        self.sentences = [sentence for n, sentence in enumerate(self.sentences) if n not in results]
        self.live, self.finished = self.live.keep(going), self.finished.keep(going)
        self._regroup()
        return results

    def _regroup(self) -> None:
        """Makes what depends on which sentences there are; all that goes to the device beside the prefixes."""
        self.limits = torch.tensor([sentence.limit for sentence in self.sentences], device=self.device)  # [N]
        self.numbers = torch.tensor([s.request.number for s in self.sentences], dtype=torch.long, device=self.device)
        self._rules = Rules(
            self.sentences,
            limits=self.limits,
            settings=self.settings,
            end=self.end,
            at_end=not self.has_rivals,
            device=self.device,
        )


_Row = tuple[list[int], list[float], int, float, bool, float]  # the fields of Hypotheses, and the score


def _result(sentence: Sentence, rows: list[_Row], settings: SearchSettings) -> Result:
    found = tuple(_hypothesis(sentence, row, settings) for row in rows if row[3] > -float("inf"))
    if not found:
        raise RegardError(
            "The model gives no probability to any sentence: its logits are -inf or not numbers.\n"
            "  Its weights are damaged, or its training has diverged; train it again with a lower rate."
        )
    return Result(request=sentence.request, hypotheses=found)


def _hypothesis(sentence: Sentence, row: _Row, settings: SearchSettings) -> Hypothesis:
    tokens, logprobs, length, total, guarded, score = row
    ids, request = tuple(tokens[: length - 1]), sentence.request
    return Hypothesis(
        ids=ids,
        score=score,
        total=total,
        logprobs=tuple(logprobs[:length]),
        length_limited=len(ids) >= sentence.limit,
        repetition_stopped=guarded,
        constraints_met=len(ids) >= settings.min_length
        and ids[: len(request.prefix)] == request.prefix
        and all(contains(ids, phrase) for phrase in request.required)
        and not any(contains(ids, phrase) for phrase in request.banned),
    )
