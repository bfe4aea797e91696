"""Knock-out: what a model loses without a head, and which heads can go at once.

All heads are tried in the same batches: the sentences of a batch are repeated, once for each variant of the model, and
every row carries the mask of its own variant. So a table of all heads takes a few large batches, not a run a head.

Shapes: V variants, R = V * B rows, H heads, T queries, S keys.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from regard import metrics
from regard.batches.rows import Batch, Rows, rows_of
from regard.insight.look import refuse_without_attention
from regard.insight.sample import Sample
from regard.models.parts.observation import Head, heads_of, observing
from regard.models.protocols import AttentionName, Lookup, Model, State
from regard.search import Request, SearchSettings, build, decode

ALLOWED = (0.0, 0.01)  # the allowed increase of the loss, as a share, for the number of removable heads
_TOKENS = 4096  # of a batch, repetitions included

Variant = Collection[Head]
"""The heads that are switched off; none of them is the whole model."""


@dataclass(frozen=True, kw_only=True)
class Effect:
    """What is left without some heads: the loss for each token, and BLEU by greedy search if it was asked for."""

    off: tuple[Head, ...]
    loss: float
    bleu: float | None = None

    def table(self) -> dict[str, Any]:
        """For programs."""
        return {"off": [str(head) for head in self.off], "loss": self.loss, "bleu": self.bleu}


@dataclass(frozen=True, kw_only=True)
class KnockOut:
    """The whole model, each head alone switched off, and more and more of the least needed ones at once."""

    whole: Effect
    heads: Sequence[Effect]  # the one that is missed least first
    together: Sequence[Effect]  # the first, the first two, and so on
    sentences: int

    def removable(self, *, more: float = 0.0) -> Effect | None:
        """The most heads that go at once for at most this share of loss `more`; none if every head is missed."""
        allowed = self.whole.loss * (1 + more)
        return next((effect for effect in reversed(self.together) if effect.loss <= allowed), None)

    def table(self) -> dict[str, Any]:
        """For programs."""
        return {
            "sentences": self.sentences,
            "whole": self.whole.table(),
            "heads": [effect.table() for effect in self.heads],
            "together": [effect.table() for effect in self.together],
            "removable": {
                f"{more:g}": [str(head) for head in effect.off] if (effect := self.removable(more=more)) else []
                for more in ALLOWED
            },
        }


def knock_out(model: Model[Any, Any], sample: Sample, *, device: torch.device, bleu: bool = False) -> KnockOut:
    """The effect of every head on the loss and, with `bleu`, on the translations of a sample."""
    refuse_without_attention(model)
    variants: list[tuple[Head, ...]] = [(), *((head,) for head in heads_of(model))]
    whole, *alone = _effects(model, sample, variants, device=device, bleu=bleu)
    ordered = sorted(alone, key=lambda effect: effect.loss)
    least = [effect.off[0] for effect in ordered]
    prefixes = [tuple(least[:count]) for count in range(1, len(least) + 1)]
    together = _effects(model, sample, prefixes, device=device, bleu=False)
    found = KnockOut(whole=whole, heads=ordered, together=together, sentences=len(sample.sources))
    if bleu:
        chosen = {together.index(effect) for more in ALLOWED if (effect := found.removable(more=more))}
        for place, score in zip(
            chosen, bleus(model, sample, [prefixes[n] for n in chosen], device=device), strict=True
        ):
            together[place] = replace(together[place], bleu=score)
    return found


@torch.no_grad()
def losses(model: Model[Any, Any], sample: Sample, variants: Sequence[Variant], *, device: torch.device) -> list[float]:
    """The mean of -log p over the labels of the sample, for each variant."""
    sums, labels = torch.zeros(len(variants), dtype=torch.float64), 0
    with _masked(model, variants, device) as rows:
        for _, batch in sample.batches(tokens=_TOKENS // 4):
            labels += batch.tokens
            at_once = max(1, _TOKENS // batch.streams["target"].tokens.numel())
            for first in range(0, len(variants), at_once):
                count = min(at_once, len(variants) - first)
                repeated = _repeated(batch, count).to(device)
                rows.variants = torch.arange(first, first + count, device=device).repeat_interleave(len(batch.labels))
                missed = _missed(model, repeated)
                sums[first : first + count] += missed.view(count, -1).sum(dim=1).cpu()
    return [float(total) / labels for total in sums]


@torch.no_grad()
def bleus(model: Model[Any, Any], sample: Sample, variants: Sequence[Variant], *, device: torch.device) -> list[float]:
    """BLEU of greedy translations of the sample, for each variant."""
    tokenisers = sample.tokenisers
    said: list[list[str]] = [[""] * len(sample.sources) for _ in variants]
    search_settings = SearchSettings(method="greedy")
    with _masked(model, variants, device) as rows:
        for numbers, batch in sample.batches(tokens=_TOKENS // 4):
            at_once = max(1, _TOKENS // batch.streams["source"].tokens.numel())
            for first in range(0, len(variants), at_once):
                chosen = range(first, min(first + at_once, len(variants)))
                asked = [(variant, number) for variant in chosen for number in numbers]
                search = build(search_settings, begin=tokenisers.target.begin, end=tokenisers.target.end, device=device)
                found = decode(rows.step, rows.start(sample, asked, device), _requests(sample, asked), search)
                for (variant, number), result in zip(asked, found, strict=True):
                    said[variant][number] = tokenisers.target.decode(result.hypotheses[0].ids)
    references = [[target] for target in sample.targets]
    return [metrics.score(["bleu"], each, references)[0].value for each in said]


def _effects(
    model: Model[Any, Any], sample: Sample, variants: Sequence[tuple[Head, ...]], *, device: torch.device, bleu: bool
) -> list[Effect]:
    missed = losses(model, sample, variants, device=device)
    scores = bleus(model, sample, variants, device=device) if bleu else [None] * len(variants)
    return [Effect(off=off, loss=loss, bleu=score) for off, loss, score in zip(variants, missed, scores, strict=True)]


def _missed(model: Model[Any, Any], batch: Batch) -> Tensor:
    """[R] -log p of all labels of each row."""
    real = batch.labelled
    logits = model.logits(model.states(batch)[real]).float()
    missed = logits.logsumexp(dim=-1) - logits.gather(-1, batch.labels[real][:, None])[:, 0]
    return torch.zeros_like(real, dtype=torch.float64).masked_scatter(real, missed.double()).sum(dim=1)


def _repeated(batch: Batch, count: int) -> Batch:
    streams = {name: Rows(*(part.repeat(count, 1) for part in rows)) for name, rows in batch.streams.items()}
    labels, labelled = batch.labels.repeat(count, 1), batch.labelled.repeat(count, 1)
    return Batch(streams, labels, labelled, batch.tokens * count)


def _requests(sample: Sample, asked: Sequence[tuple[int, int]]) -> list[Request]:
    return [
        Request(source_length=len(sample.source_ids[number]), number=place) for place, (_, number) in enumerate(asked)
    ]


@dataclass(frozen=True)
class _Decoding:
    """A decoder whose rows are of different variants."""

    inner: State
    variants: Tensor  # [R], one hypothesis a sentence

    def reorder(self, rows: Tensor) -> _Decoding:
        return _Decoding(self.inner.reorder(rows), self.variants[rows])

    def keep(self, sentences: Tensor) -> _Decoding:
        return _Decoding(self.inner.keep(sentences), self.variants[sentences])

    def put(self, places: Tensor, newcomers: _Decoding) -> _Decoding:
        variants = self.variants.index_copy(0, places, newcomers.variants)
        return _Decoding(self.inner.put(places, newcomers.inner), variants)

    def append(self, newcomers: _Decoding) -> _Decoding:
        variants = torch.cat([self.variants, newcomers.variants])
        return _Decoding(self.inner.append(newcomers.inner), variants)


class _Masks:
    """Which heads are on in which row."""

    def __init__(self, model: Model[Any, Any], variants: Sequence[Variant], device: torch.device) -> None:
        self.model = model
        self.variants = torch.zeros(0, dtype=torch.long, device=device)  # [R] the variant of each row
        self.on: dict[AttentionName, Tensor] = {}  # [V, H]
        for name, attention in model.attentions().items():
            heads = [Head(name.kind, name.layer, head) for head in range(attention.heads)]
            off = [[head in variant for head in heads] for variant in variants]
            if any(map(any, off)):
                self.on[name] = ~torch.tensor(off, device=device)

    def see(self, name: AttentionName, lookup: Lookup) -> Tensor:
        """[R, H, T, S] the weights of heads that are on."""
        if name not in self.on:
            return lookup.weights
        return lookup.weights * self.on[name][self.variants][:, :, None, None]

    def start(self, sample: Sample, asked: Sequence[tuple[int, int]], device: torch.device) -> _Decoding:
        """A decoder for each variant and sentence that is asked for."""
        self.variants = torch.tensor([variant for variant, _ in asked], device=device)
        end = sample.tokenisers.source.end
        source = rows_of([[[*sample.source_ids[number], end]] for _, number in asked]).to(device)
        return _Decoding(self.model.start(self.model.encode(source)), self.variants)

    def step(self, tokens: Tensor, state: _Decoding) -> tuple[Tensor, _Decoding]:
        """One more word for every row."""
        self.variants = state.variants
        logits, inner = self.model.step(tokens, state.inner)
        return logits, replace(state, inner=inner)


@contextmanager
def _masked(model: Model[Any, Any], variants: Sequence[Variant], device: torch.device) -> Iterator[_Masks]:
    masks = _Masks(model, variants, device)
    with observing(model, masks.see):
        yield masks
