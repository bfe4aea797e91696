"""Observing attention, and changing it. The model keeps nothing: the observer holds what it has seen.

    with watch(model) as seen:
        model(batch)
    seen[AttentionName("encoder", 0)][0].weights    # [B, H, T, S]

    with without(model, [Head("encoder", 2, 5)]):
        model(batch)                                # as if rows of W^O were zero

Contexts nest: a later one sees and changes what the earlier ones left. `step` is seen like `forward`, one Lookup a
step; there, attention over the source has the hypotheses of a sentence as its queries: [N, H, width, S].
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from regard.errors import SettingsError
from regard.models.protocols import AttentionName, Lookup, Observable, Observer


class Attending(Protocol):
    """A model, as far as this file needs it."""

    def attentions(self) -> Mapping[AttentionName, Observable]:
        """Every attention by its name."""


class Head(NamedTuple):
    """One head, written `encoder.2.5`: kind, layer, head, counted from 0."""

    kind: str
    layer: int
    head: int

    def __str__(self) -> str:
        return f"{self.kind}.{self.layer}.{self.head}"

    @classmethod
    def parse(cls, text: str) -> Head:
        """The head that `text` names."""
        kind, *numbers = text.strip().split(".")
        if len(numbers) != 2 or not all(number.isdecimal() for number in numbers):
            raise SettingsError(
                f"{text!r} is not a head.\n  A head is kind.layer.head, counted from 0: encoder.2.5, decoder.0.1 or "
                "decoder-source.0.1"
            )
        return cls(kind, int(numbers[0]), int(numbers[1]))


def heads_named(model: Attending, text: str) -> list[Head]:
    """The heads that `text` names, commas between them: `encoder.2.5` is one, `encoder.2` all of that layer's."""
    attentions = model.attentions()
    heads: dict[Head, None] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        layer = next((name for name in attentions if str(name) == part), None)
        if layer is None:
            found = [Head.parse(part)]
            _attention_of(found[0], attentions)
        else:
            found = [Head(layer.kind, layer.layer, head) for head in range(attentions[layer].heads)]
        heads |= dict.fromkeys(found)
    return list(heads)


def heads_of(model: Attending) -> list[Head]:
    """Every head of the model, in the order of its attentions."""
    return [
        Head(name.kind, name.layer, head)
        for name, attention in model.attentions().items()
        for head in range(attention.heads)
    ]


@contextmanager
def observing(model: Attending, see: Callable[[AttentionName, Lookup], Tensor]) -> Iterator[None]:
    """While it lasts, `see` gets every use of attention, and returns the weights that are used."""

    def observer(name: AttentionName) -> Observer:
        return lambda lookup: see(name, lookup)

    with ExitStack() as stack:
        for name, attention in model.attentions().items():
            stack.enter_context(_observed(attention, observer(name)))
        yield


@contextmanager
def watch(model: Attending) -> Iterator[dict[AttentionName, list[Lookup]]]:
    """While it lasts, every use of attention is written down: queries, keys, values and the weights that were used."""
    seen: dict[AttentionName, list[Lookup]] = {name: [] for name in model.attentions()}

    def record(name: AttentionName, lookup: Lookup) -> Tensor:
        seen[name].append(lookup)
        return lookup.weights

    with observing(model, record):
        yield seen


def merged(lookups: Sequence[Lookup]) -> Lookup:
    """One lookup of all queries, where a model asks them one after the other over the same keys."""
    if len(lookups) == 1:
        return lookups[0]
    query = torch.cat([lookup.query for lookup in lookups], dim=2)
    return lookups[0]._replace(query=query, weights=torch.cat([lookup.weights for lookup in lookups], dim=2))


@contextmanager
def without(model: Attending, heads: Iterable[Head]) -> Iterator[None]:
    """While it lasts, these heads contribute nothing."""
    attentions = model.attentions()
    switched_off: dict[AttentionName, list[int]] = {}
    for head in heads:
        name = _attention_of(head, attentions)
        switched_off.setdefault(name, []).append(head.head)

    def silencer(off: list[int]) -> Observer:
        def silence(lookup: Lookup) -> Tensor:
            weights = lookup.weights.clone()
            weights[:, off] = 0.0
            return weights

        return silence

    with ExitStack() as stack:
        for name, off in switched_off.items():
            stack.enter_context(_observed(attentions[name], silencer(off)))
        yield


@contextmanager
def _observed(attention: Observable, observer: Observer) -> Iterator[None]:
    """Puts `observer` behind earlier observers."""
    earlier = attention.observer

    def both(lookup: Lookup) -> Tensor:
        return observer(lookup if earlier is None else lookup._replace(weights=earlier(lookup)))

    attention.observer = both
    try:
        yield
    finally:
        attention.observer = earlier


def _attention_of(head: Head, attentions: Mapping[AttentionName, Observable]) -> AttentionName:
    for name, attention in attentions.items():
        if (name.kind, name.layer) == (head.kind, head.layer) and head.head < attention.heads:
            return name
    there = ", ".join(f"{name}.0-{attention.heads - 1}" for name, attention in attentions.items())
    raise SettingsError(f"{head}: this model has no such head.\n  It has: {there or 'no attention'}")
