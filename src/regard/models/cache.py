"""What an attending decoder keeps between two steps: keys and values, its own and those of the source.

Shapes: N sentences, R = N * width rows, H heads, S source positions, K width of a key or value.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

_FIRST_CAPACITY = 32


class KeysAndValues:
    """A decoder layer's own keys and values so far, written in place; the room for them doubles when it is full."""

    def __init__(self) -> None:
        self.length = 0
        self.keys: Tensor | None = None  # [R, H, capacity, K]
        self.values: Tensor | None = None

    def append(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Adds one position, [R, H, 1, K] each, and gives all of them."""
        self.keys = self._room(self.keys, key)
        self.values = self._room(self.values, value)
        self.keys[:, :, self.length] = key[:, :, 0]
        self.values[:, :, self.length] = value[:, :, 0]
        self.length += 1
        return self.keys[:, :, : self.length], self.values[:, :, : self.length]

    def select(self, rows: Tensor) -> None:
        """Row r becomes what row `rows[r]` was."""
        if self.keys is not None and self.values is not None:
            self.keys = self.keys.index_select(0, rows)
            self.values = self.values.index_select(0, rows)

    def _room(self, cached: Tensor | None, new: Tensor) -> Tensor:
        rows, heads, _, width = new.shape
        if cached is None:
            return new.new_empty(rows, heads, _FIRST_CAPACITY, width)
        if self.length < cached.size(2):
            return cached
        return torch.cat([cached, torch.empty_like(cached)], dim=2)


@dataclass(frozen=True)
class DecoderState:
    """Everything a step needs beside the words said last."""

    own: tuple[KeysAndValues, ...]  # one for each layer
    source: tuple[tuple[Tensor, Tensor], ...]  # keys and values of the source for each layer, [N, H, S, K]
    source_allowed: Tensor  # [N, 1, 1, S] True where looking is allowed
    width: int  # hypotheses for each sentence

    @property
    def length(self) -> int:
        """How many words were said."""
        return self.own[0].length

    def reorder(self, rows: Tensor) -> DecoderState:
        """Row r goes on from where row `rows[r]` was. The source's part is shared by a sentence's rows and stays."""
        for cache in self.own:
            cache.select(rows)
        return self

    def keep(self, sentences: Tensor) -> DecoderState:
        """Only these sentences go on, in this order, each with all of its rows."""
        rows = sentences[:, None] * self.width + torch.arange(self.width, device=sentences.device)
        for cache in self.own:
            cache.select(rows.flatten())
        return replace(
            self,
            source=tuple((key[sentences], value[sentences]) for key, value in self.source),
            source_allowed=self.source_allowed[sentences],
        )
