"""What an attending decoder keeps between two steps: keys and values, its own and those of the source.

A step writes the keys and values of a sentence's hypotheses side by side into its next column, and nothing is moved
afterwards: when a hypothesis goes on from another, only the table of what each has `seen` changes. So the hypotheses
of a sentence are queries over one cache that they share, and a sentence may enter at any time, in the place of one
that is finished. What a sentence meets in its place does not depend on when it entered.

Shapes: N sentences, W = width hypotheses of each, C columns, H heads, S source positions, K width of a key or value.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import torch
from torch import Tensor
from torch.nn import functional as F

from regard.kernels import trusted

_FIRST_CAPACITY = 32
_BLOCK = 8  # columns that are looked at are a multiple of this, so that shapes repeat

KeysAndValues = tuple[Tensor, Tensor]


class DecoderState:
    """Everything a step needs beside the words said last."""

    def __init__(
        self, source: Sequence[KeysAndValues], source_allowed: Tensor, *, width: int, capacity: int = _FIRST_CAPACITY
    ) -> None:
        self.source = list(source)  # for each layer, [N, H, S, K]
        self.source_allowed = source_allowed  # [N, 1, 1, S] True where looking is allowed
        self.width = width
        self.capacity, self.grows = capacity, True
        self.steps = 0
        sentences, device = len(source_allowed), source_allowed.device
        self.born = [0] * sentences  # at which step each sentence began, ...
        self.earliest = 0  # ... and the first of them
        self.ages = torch.zeros(sentences, dtype=torch.long, device=device)  # [N] words that each has said
        self.places = torch.arange(sentences, device=device)  # [N]
        self.columns = self.ages  # [N] where each writes; one that was left in its place for ever into the last column
        self.positions = source_allowed.new_zeros(0)  # [words, D] what the model adds to its words, by their age
        self.own: list[KeysAndValues] = []  # [N, H, C, W, K] for each layer, from the first step on
        self.seen = torch.zeros(sentences, width, capacity, width, dtype=torch.bool, device=device)

    def reserve(self, words: int) -> None:
        """Room for sentences of so many words: the columns never grow, and whoever is there longer is forgotten."""
        assert self.steps == 0
        self.capacity, self.grows = -(-words // _BLOCK) * _BLOCK, False
        self.seen = self.seen.new_zeros(len(self.seen), self.width, self.capacity, self.width)

    @property
    def oldest(self) -> int:
        """The most words that one of the sentences has said, as far as there is room for."""
        oldest = self.steps - self.earliest
        return oldest if self.grows else min(oldest, self.capacity - 1)

    def begin_step(self) -> None:
        """Makes room for one more column."""
        if not self.own:
            self.own = [(self._empty(key), self._empty(value)) for key, value in self.source]
        if self.grows and self.oldest >= self.capacity:
            self._grow()

    def write(self, layer: int, key: Tensor, value: Tensor) -> KeysAndValues:
        """Adds what each row has to say, [N, H, W, K] each, and gives all that was said: [N, H, columns * W, K]."""
        caches = self.own[layer]
        if _fits(*caches, key, value) and (kernel := trusted("writing")):
            kernel.write(*caches, key, value, self.columns)
        else:
            for cache, new in zip(caches, (key, value), strict=True):
                cache[self.places, :, self.columns] = new.to(cache.dtype)
        keys, values = (cache[:, :, : self._looked_at].flatten(2, 3) for cache in caches)
        return keys, values

    def allowed(self) -> Tensor:
        """[N, 1, W, columns * W] what each hypothesis has said, the newest column included."""
        itself = torch.eye(self.width, dtype=torch.bool, device=self.seen.device)
        self.columns = self.ages.clamp(max=self.capacity - 1)
        self.seen[self.places, :, self.columns] = itself
        return self.seen[:, None, :, : self._looked_at].flatten(3)

    @property
    def changing(self) -> list[Tensor]:
        """What a step changes beside the columns of the cache that it writes."""
        return [self.ages, self.seen]

    def end_step(self) -> None:
        """All sentences are a word older."""
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
        """The sentences of another state, which have said nothing yet, take these places."""
        self.fill(places, newcomers)
        self.entered(places.tolist())
        return self

    def entered(self, places: Sequence[int]) -> None:
        """Notes that in these places sentences begin."""
        for place in places:
            self.born[place] = self.steps
        self.earliest = min(self.born)

    def fill(self, places: Tensor, newcomers: DecoderState) -> None:
        """The part of `put` that computes."""
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
    def _looked_at(self) -> int:
        """How many columns a step looks at: on a GPU all of them, so that its shapes never change."""
        if self.seen.is_cuda:
            return self.capacity
        return min(self.capacity, -(-(self.oldest + 1) // _BLOCK) * _BLOCK)

    def _empty(self, like: Tensor) -> Tensor:
        sentences, heads, _, width = like.shape
        return like.new_zeros(sentences, heads, self.capacity, self.width, width)  # not NaN: it is looked at, by 0

    def _grow(self) -> None:
        """Twice the columns."""
        self.own = [(_twice(key), _twice(value)) for key, value in self.own]
        self.seen = _twice(self.seen)
        self.capacity *= 2


def _fits(keys: Tensor, values: Tensor, key: Tensor, value: Tensor) -> bool:
    """Whether our kernel can write them."""
    return (
        keys.is_cuda
        and keys.stride() == values.stride()
        and keys.dtype == values.dtype == key.dtype == value.dtype
        and key.stride(3) == value.stride(3) == 1
        and key.size(3).bit_count() == 1
    )


def _twice(cache: Tensor) -> Tensor:
    return torch.cat([cache, torch.zeros_like(cache)], 2)


def _kept(cache: Tensor, *, sentences: Tensor, places: Tensor) -> Tensor:
    """[N, ...] -> these sentences alone, each in its place; those of these `places` come from elsewhere."""
    if len(places):
        cache[places] = cache[sentences[places]]
    return cache[: len(sentences)]


def _longer(cache: Tensor, by: int) -> Tensor:
    return F.pad(cache, (0, 0, 0, by))
