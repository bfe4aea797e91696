"""What every search is: sentences enter, logits come in, words go out, and sentences leave with their results.

A search does the bookkeeping and is driven from outside (`driver.py` is the simplest driver). It knows no model.
Sentences may enter at any time and leave as soon as they are finished; no result depends on a sentence's neighbours.

Shapes: N sentences, W = width hypotheses of each, V vocabulary; N * W rows, those of one sentence side by side.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.errors import RegardError, SettingsError
from regard.search.hypotheses import Hypotheses
from regard.search.length import length_penalty
from regard.search.request import Hypothesis, Request, Result, contains
from regard.search.rules import Offer, Rules, Sentence
from regard.search.search_settings import SearchSettings

_TOGETHER = 32  # sentences whose numbers become Python's at a time


class Decision(NamedTuple):
    """What a search decided."""

    finished: dict[int, Result]  # by the place of the sentence among the N; the place is free from now on
    rows: Tensor | None  # [N * W] which row each row continues; None: each continues itself


class OnHost(NamedTuple):
    """Tensors on their way from the device to the host, which does not wait for them."""

    tensors: list[Tensor]
    arrival: torch.cuda.Event | None  # None: they are there

    @classmethod
    def sent(cls, tensors: Iterable[Tensor], device: torch.device) -> OnHost:
        """These, from now on."""
        at_once = device.type != "cuda"
        copies = [tensor.to("cpu", non_blocking=not at_once) for tensor in tensors]
        return cls(copies, None if at_once else torch.cuda.current_stream(device).record_event())

    @property
    def have_arrived(self) -> bool:
        """Whether they are there."""
        return self.arrival is None or bool(self.arrival.query())  # type: ignore[no-untyped-call]

    def arrays(self) -> list[NDArray[Any]]:
        """They themselves; the host waits for them."""
        if self.arrival:
            self.arrival.synchronize()
        return [tensor.numpy() for tensor in self.tensors]


class Dismissed(NamedTuple):
    """Sentences that have left: their results are made while the device goes on."""

    sentences: dict[int, Sentence]  # by the places that they had
    fields: OnHost  # of their hypotheses, and the scores
    settings: SearchSettings

    def results(self) -> Iterator[Result]:
        """In the order of the sentences, each made when it is asked for; their numbers are read a few at a time."""
        if not self.sentences:
            return
        fields, sentences = self.fields.arrays(), iter(self.sentences.values())
        width = fields[0].shape[1]
        for first in range(0, len(self.sentences), _TOGETHER):
            some = (field[first : first + _TOGETHER] for field in fields)
            rows = zip(*(field.reshape(-1, *field.shape[2:]).tolist() for field in some), strict=True)
            for sentence in islice(sentences, _TOGETHER):
                yield _result(sentence, islice(rows, width), self.settings)


class Search(ABC):
    """The hypotheses of N sentences. A kind of search says how they go on."""

    width: int  # hypotheses of a sentence
    has_rivals: bool  # whether a sentence's hypotheses compete
    may_stay_in_place = False  # whether `reserve` may be given a room

    def __init__(self, settings: SearchSettings, *, begin: int, end: int, device: torch.device | str = "cpu") -> None:
        self.settings, self.begin, self.end, self.device = settings, begin, end, torch.device(device)
        self.sentences: list[Sentence | None]  # None: the place is free
        self.live: Hypotheses  # [N, W]
        self.finished: Hypotheses  # [N, n_best] the best of each sentence that have ended
        self.tokens: Tensor  # [N * W] what each row says next
        self.over: Tensor  # [N] True where a sentence's results are known
        self._taken: NDArray[np.bool_]  # [N] False where a place is free
        self._table: Tensor
        self._room: int | None
        self.stays_in_place, self._room = False, None
        self._clock = 0  # steps until now
        self._deadline = math.inf  # before, no sentence has to be over
        self._news: OnHost | None = None  # of a step: `over`
        self.reserve(0)

    @abstractmethod
    def choose(self, offer: Offer) -> tuple[Tensor, Tensor | None]:
        """Moves `live` and `finished` on; gives tokens and places, [N, W]: what each says, and which each continues."""

    @abstractmethod
    def start(self, hypotheses: Hypotheses) -> Hypotheses:
        """The hypotheses, [N, W], with which new sentences start, made from empty places."""

    def done(self) -> Tensor:
        """[N] True where a sentence's results are known."""
        return ~self.live.exist.any(1)

    @property
    def busy(self) -> list[int]:
        """The places of the sentences that are not finished."""
        places: list[int] = self._taken.nonzero()[0].tolist()
        return places

    @property
    def is_busy(self) -> bool:
        """Whether a sentence is not finished."""
        return bool(self._taken.any())

    @property
    def free(self) -> list[int]:
        """The places of those that are."""
        places: list[int] = (~self._taken).nonzero()[0].tolist()
        return places

    def reserve(self, places: int, *, room: int | None = None) -> None:
        """So many free places. With `room` for so many tokens, all tensors stay where they are.

        Then `move` can be captured and replayed; requests must have no prefix and no phrases.
        """
        if self.stays_in_place and (len(self.sentences), self._room) == (places, room):
            assert not self.busy, "the places are taken"
            return
        self.stays_in_place, self._room, self._on_device = False, room, room is not None
        self.live = Hypotheses.none(places, self.width, room=room or 0, device=self.device)
        self.finished = Hypotheses.none(places, self.settings.n_best, room=room or 0, device=self.device)
        self.tokens = torch.full((places * self.width,), self.begin, device=self.device)
        self.over = torch.ones(places, dtype=torch.bool, device=self.device)
        self.sentences, self._taken = [None] * places, np.zeros(places, dtype=np.bool_)
        self._regroup()
        self._first_totals = self.start(Hypotheses.none(1, self.width, room=0, device=self.device)).total
        self.stays_in_place = room is not None

    @torch.no_grad()
    def admit(self, requests: Sequence[Request], *, places: Sequence[int] | None = None) -> None:
        """Sentences enter, behind those that are there or into free `places`."""
        for request in requests:
            if not request.is_plain:
                self.check(request)
        entering = [Sentence.of(request, self.settings, began=self._clock) for request in requests]
        self._deadline = min([self._deadline, *(sentence.last for sentence in entering)])
        if places is not None:
            for place, sentence in zip(places, entering, strict=True):
                assert self.sentences[place] is None, "the place is taken"
                self.sentences[place], self._taken[place] = sentence, True
            if self.stays_in_place:
                self._begin_in_place(entering, places)
                return
        room = max((sentence.limit + 1 for sentence in entering), default=0)
        live = self.start(Hypotheses.none(len(entering), self.width, room=room, device=self.device))
        finished = Hypotheses.none(len(entering), self.settings.n_best, room=room, device=self.device)
        tokens = torch.full((len(entering), self.width), self.begin, device=self.device)
        if places is None:
            self.live, self.finished = self.live.above(live), self.finished.above(finished)
            self.tokens = torch.cat([self.tokens, tokens.flatten()])
            self.sentences = [*self.sentences, *entering]
            self._taken = np.concatenate([self._taken, np.ones(len(entering), dtype=np.bool_)])
        else:
            where = torch.tensor(places, dtype=torch.long, device=self.device)
            self.tokens = self.tokens.view(-1, self.width).index_copy(0, where, tokens).flatten()
            self.live, self.finished = self.live.put(where, live), self.finished.put(where, finished)
        self._regroup()

    def _begin_in_place(self, entering: Sequence[Sentence], places: Sequence[int]) -> None:
        """Sentences begin in these places; the host does not wait for the device."""
        limits = [sentence.limit for sentence in entering]
        there = torch.tensor([places, limits, [sentence.request.number for sentence in entering]], dtype=torch.long)
        if self.device.type == "cuda":
            there = there.pin_memory().to(self.device, non_blocking=True)
        where = there[0]
        self.live.clear(where)
        self.finished.clear(where)
        self.live.total.index_copy_(0, where, self._first_totals.expand(len(places), -1))
        self.tokens.view(-1, self.width).index_fill_(0, where, self.begin)
        self._table.index_copy_(1, where, there[1:])

    @torch.no_grad()
    def keep(self, places: Sequence[int]) -> None:
        """Only these places remain, in this order."""
        where = torch.tensor(places, dtype=torch.long, device=self.device)
        self.sentences, self._taken = [self.sentences[place] for place in places], self._taken[list(places)]
        self.live, self.finished = self.live.keep(where), self.finished.keep(where)
        self.tokens = self.tokens.view(-1, self.width)[where].flatten()
        self._regroup()

    @torch.no_grad()
    def advance(self, logits: Tensor) -> Decision:
        """One step on, from the logits after the last tokens: [N * W, V], which are overwritten."""
        rows = self.move(logits)
        return Decision(self.conclude(), rows)

    def move(self, logits: Tensor) -> Tensor | None:
        """The part of a step that computes. Gives the row that each row continues, [N * W]; None: itself."""
        live, finished = self.live, self.finished
        offer = self._rules.offer(logits.view(len(self.sentences), self.width, -1), live, clock=self._clock)
        tokens, places = self.choose(offer)
        over = self.done()
        if self.stays_in_place:
            self.over.copy_(over)
            (live, self.live), (finished, self.finished) = (self.live, live), (self.finished, finished)
            self._set(live, finished, tokens.flatten())
        else:
            self.over, self.tokens = over, tokens.flatten()
        return None if places is None else (places + self._first_rows).flatten()

    def check(self, request: Request) -> None:
        """Refuses a request that no search can fulfil."""
        if any(self.end in phrase for phrase in (request.prefix, *request.banned, *request.required)):
            raise SettingsError(f"A phrase contains {self.end}, which ends a sentence.\n  Leave it out.")

    @torch.no_grad()
    def release(self, places: Sequence[int]) -> None:
        """The sentences in these places leave without a result."""
        if not places:
            return
        for place in places:
            self.sentences[place] = None
        self._taken[list(places)] = False
        self.live.total.index_fill_(0, torch.tensor(places, device=self.device), -torch.inf)

    def send_news(self) -> None:
        """What `dismiss` reads of the last step goes to the host, which does not wait for it."""
        self._news = OnHost.sent([self.over], self.device)

    @property
    def is_moving(self) -> bool:
        """Whether the device still computes the step whose news were sent."""
        return self._news is not None and not self._news.have_arrived

    def conclude(self) -> dict[int, Result]:
        """The results of the sentences that are finished, by their places, which are free now."""
        gone = self.dismiss()
        return dict(zip(gone.sentences, gone.results(), strict=True))

    @torch.no_grad()
    def dismiss(self, *, moves: int = 1) -> Dismissed:
        """The sentences that are finished after so many moves; their places are free now.

        Here the host waits for the device; before, only for a prefix.
        """
        self._clock += moves
        if self._news is None:
            self.send_news()
        assert self._news is not None
        (news,), self._news = self._news.arrays(), None
        over = news & self._taken
        if self._clock > self._deadline:
            self._dismiss_late(over)
        leaving = over.nonzero()[0].tolist()
        if not leaving:
            return Dismissed({}, OnHost([], None), self.settings)
        where = torch.tensor(leaving, device=self.device)
        hypotheses = self.finished.keep(where)
        score = hypotheses.total / length_penalty(hypotheses.length, self.settings.length_penalty)
        sentences = {place: sentence for place in leaving if (sentence := self.sentences[place])}
        for place in leaving:
            self.sentences[place] = None
        self._taken[leaving] = False
        self.live.total.index_fill_(0, where, -torch.inf)
        return Dismissed(sentences, OnHost.sent((*hypotheses, score), self.device), self.settings)

    def _dismiss_late(self, over: NDArray[np.bool_]) -> None:
        """Marks sentences in [N] that are past their last step without a result, since their logits are NaN."""
        last = {n: sentence.last for n, sentence in enumerate(self.sentences) if sentence and not over[n]}
        over[[n for n, clock in last.items() if clock < self._clock]] = True
        self._deadline = min((clock for clock in last.values() if clock >= self._clock), default=math.inf)

    def _set(self, live: Hypotheses, finished: Hypotheses, tokens: Tensor) -> None:
        """Copies these to where they must stay."""
        for place, new in zip((*self.live, *self.finished, self.tokens), (*live, *finished, tokens), strict=True):
            place.copy_(new)

    def _regroup(self) -> None:
        """Makes what depends on which sentences there are; all that goes to the device beside the prefixes."""
        limits = [sentence.limit if sentence else 0 for sentence in self.sentences]
        numbers = [sentence.request.number if sentence else 0 for sentence in self.sentences]
        self._table = torch.tensor([limits, numbers], dtype=torch.long, device=self.device)
        self.limits, self.numbers = self._table  # [N] each
        self._first_rows = torch.arange(len(limits), device=self.device)[:, None] * self.width
        self._rules = Rules(
            self.sentences,
            limits=self.limits,
            settings=self.settings,
            end=self.end,
            at_end=not self.has_rivals,
            on_device=self._on_device,
            device=self.device,
        )


_Row = tuple[list[int], list[float], int, float, bool, float]  # the fields of Hypotheses, and the score


def _result(sentence: Sentence, rows: Iterable[_Row], settings: SearchSettings) -> Result:
    found = tuple([_hypothesis(sentence, row, settings) for row in rows if row[3] > -math.inf])
    if not found:
        raise RegardError(
            "The model assigns no probability to any sentence: its logits are -inf or NaN.\n"
            "  Its weights are damaged, or its training has diverged; train it again with a lower learning rate."
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
        constraints_met=len(ids) >= settings.min_length and (request.is_plain or _as_asked(ids, request)),
    )


def _as_asked(ids: tuple[int, ...], request: Request) -> bool:
    return (
        ids[: len(request.prefix)] == request.prefix
        and all(contains(ids, phrase) for phrase in request.required)
        and not any(contains(ids, phrase) for phrase in request.banned)
    )
