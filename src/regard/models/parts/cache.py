"""What an attending decoder keeps between two steps: keys and values, its own and those of the source.

A step writes the keys and values of a sentence's hypotheses side by side into its next column, and nothing is moved
afterwards: when a hypothesis goes on from another, only the table of what each has `seen` changes. So the hypotheses
of a sentence are queries over one cache that they share, and a sentence may enter at any time, in the place of a
finished one. What a sentence finds in its place does not depend on when it entered.

Shapes: N sentences, W = width hypotheses of each, C columns, H heads, S source positions, K width of a key or value.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

_FIRST_CAPACITY = 32
BLOCK = 8  # attention covers a multiple of this many columns, so that shapes repeat

KeysAndValues = tuple[Tensor, Tensor]


class Seen(NamedTuple):
    """The sight of a decoder's newest position (`regard.models.protocols.Sight`)."""

    mask: Tensor  # [N, 1, W or 1, S]
    query_positions: Tensor  # [N, 1]
    key_positions: Tensor  # [N, 1] of the keys that the step adds

    def allowed(self) -> Tensor:
        """[N, 1, W or 1, S] True where looking is allowed."""
        return self.mask


class DecoderState:
    """Everything a step needs beside the tokens generated last."""

    so_far: Seen  # what each hypothesis has generated, the newest column included; made by `begin_step`
    whole_source: Seen

    def __init__(
        self, source: Sequence[KeysAndValues], source_allowed: Tensor, *, width: int, capacity: int = _FIRST_CAPACITY
    ) -> None:
        self.source = [(key.contiguous(), value.contiguous()) for key, value in source]  # for each layer, [N, H, S, K]
        self.source_allowed = source_allowed  # [N, 1, 1, S] True where looking is allowed
        self.width, self.capacity = width, capacity
        self.steps = 0
        sentences, device = len(source_allowed), source_allowed.device
        self.born = [0] * sentences  # the step at which each sentence began, ...
        self.earliest = 0  # ... and the first of them
        self.ages = torch.zeros(sentences, dtype=torch.long, device=device)  # [N] tokens that each has generated
        self.places = torch.arange(sentences, device=device)  # [N]
        self.columns = self.ages  # [N] where each writes; a sentence beyond the last column writes into that one
        self.own: list[KeysAndValues] = []  # [N, H, C, W, K] for each layer, from the first step on
        self.seen = torch.zeros(sentences, width, capacity, width, dtype=torch.bool, device=device)

    @property
    def oldest(self) -> int:
        """The most tokens that one of the sentences has generated."""
        return self.steps - self.earliest

    def begin_step(self) -> None:
        """Opens the next column of each sentence."""
        self._make_room()
        itself = torch.eye(self.width, dtype=torch.bool, device=self.seen.device)
        self.columns = self.ages.clamp(max=self.capacity - 1)
        self.seen[self.places, :, self.columns] = itself
        positions = self.ages[:, None]
        self.so_far = Seen(self.seen[:, None, :, : self._covered].flatten(3), positions, positions)
        self.whole_source = Seen(self.source_allowed, positions, positions)

    def write(self, layer: int, key: Tensor, value: Tensor) -> KeysAndValues:
        """Adds the newest keys and values, [N, H, W, K] each, and gives all so far: [N, H, columns * W, K]."""
        for cache, new in zip(self.own[layer], (key, value), strict=True):
            cache[self.places, :, self.columns] = new.to(cache.dtype)
        return self.written(layer)

    def written(self, layer: int) -> KeysAndValues:
        """All keys and values so far: [N, H, columns * W, K]."""
        keys, values = (cache[:, :, : self._covered].flatten(2, 3) for cache in self.own[layer])
        return keys, values

    def end_step(self) -> None:
        """All sentences are a token longer."""
        self.ages += 1
        self.steps += 1

    def reorder(self, rows: Tensor) -> DecoderState:
        """Row r goes on from where row `rows[r]` was: it has seen what that row saw."""
        self.seen.copy_(self.seen.flatten(0, 1)[rows].view_as(self.seen))
        return self

    def keep(self, sentences: Tensor) -> DecoderState:
        """Only these sentences go on, in this order, each with all of its rows; only those whose place changes move."""
        order = sentences.tolist()
        moved = [place for place, sentence in enumerate(order) if place != sentence]
        places = torch.tensor(moved, dtype=torch.long, device=sentences.device)
        kept = partial(_kept, sentences=sentences, places=places)
        self.source = [(kept(key), kept(value)) for key, value in self.source]
        self.own = [(kept(key), kept(value)) for key, value in self.own]
        self.source_allowed, self.seen, self.ages = kept(self.source_allowed), kept(self.seen), kept(self.ages)
        self.born = [self.born[sentence] for sentence in order]
        self.earliest = min(self.born, default=self.steps)
        self.places = self.places[: len(order)]
        return self

    def put(self, places: Tensor, newcomers: DecoderState) -> DecoderState:
        """The sentences of another state, which have not made a step yet, take these places."""
        self._fill(places, newcomers)
        for place in places.tolist():
            self.born[place] = self.steps
        self.earliest = min(self.born)
        return self

    def append(self, newcomers: DecoderState) -> DecoderState:
        """The sentences of another state, which have not made a step yet, take places behind the last."""
        count, width = len(newcomers.born), max(self.source_allowed.size(3), newcomers.source_allowed.size(3))
        both = self.source_allowed, newcomers.source_allowed
        self.source_allowed = torch.cat([F.pad(allowed, (0, width - allowed.size(3))) for allowed in both])
        pairs = zip(self.source, newcomers.source, strict=True)
        self.source = [(_behind(ours[0], theirs[0]), _behind(ours[1], theirs[1])) for ours, theirs in pairs]
        self.own = [(_more(key, count), _more(value, count)) for key, value in self.own]
        self.seen, self.ages = _more(self.seen, count), _more(self.ages, count)
        self.born += [self.steps] * count
        self.earliest = min(self.born)
        self.places = torch.arange(len(self.born), device=self.places.device)
        return self

    def _fill(self, places: Tensor, newcomers: DecoderState) -> None:
        assert newcomers.steps == 0
        assert newcomers.width == self.width
        more = newcomers.source_allowed.size(3) - self.source_allowed.size(3)
        if more > 0:
            self.source = [(_longer(key, more), _longer(value, more)) for key, value in self.source]
            self.source_allowed = F.pad(self.source_allowed, (0, more))
        for ours, theirs in zip(self.source, newcomers.source, strict=True):
            for cache, new in zip(ours, theirs, strict=True):
                cache[places] = _longer(new, -more) if more < 0 else new
        self.source_allowed[places] = F.pad(newcomers.source_allowed, (0, max(0, -more)))
        self.seen.index_fill_(0, places, False)  # not `seen[places] = False`: that copies from the host
        self.ages.index_fill_(0, places, 0)

    @property
    def _covered(self) -> int:
        """How many columns attention covers: on a GPU all of them, so that its shapes never change."""
        if self.seen.is_cuda:
            return self.capacity
        return min(self.capacity, -(-(self.oldest + 1) // BLOCK) * BLOCK)

    def _make_room(self) -> None:
        """Columns for one more token, twice as many when they are used up."""
        if not self.own:
            self.own = [(self._empty(key), self._empty(value)) for key, value in self.source]
        if self.oldest >= self.capacity:
            self.own = [(_twice(key), _twice(value)) for key, value in self.own]
            self.seen = _twice(self.seen)
            self.capacity *= 2

    def _empty(self, like: Tensor) -> Tensor:
        sentences, heads, _, width = like.shape
        return like.new_zeros(sentences, heads, self.capacity, self.width, width)  # not NaN: it is multiplied by 0


def _twice(cache: Tensor) -> Tensor:
    return torch.cat([cache, torch.zeros_like(cache)], 2)


def _kept(cache: Tensor, *, sentences: Tensor, places: Tensor) -> Tensor:
    """[N, ...] -> these sentences alone, each in its place; those of these `places` come from elsewhere."""
    if len(places):
        cache[places] = cache[sentences[places]]
    return cache[: len(sentences)]


def _behind(cache: Tensor, newcomers: Tensor) -> Tensor:
    """[N, H, S, K] and [M, H, S', K] -> [N + M, H, the larger of both, K]."""
    length = max(cache.size(2), newcomers.size(2))
    return torch.cat([_longer(tensor, length - tensor.size(2)) for tensor in (cache, newcomers)])


def _more(cache: Tensor, count: int) -> Tensor:
    """[N, ...] -> [N + count, ...], with zeros."""
    return torch.cat([cache, cache.new_zeros(count, *cache.shape[1:])])


def _longer(cache: Tensor, by: int) -> Tensor:
    return F.pad(cache, (0, 0, 0, by))
