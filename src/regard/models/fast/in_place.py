"""A decoder's state whose steps write into the same tensors again and again, so that a GPU can capture and replay them.

All memory is allocated at the start, the host decides nothing, and keys and values are written by kernels of our own
where they serve: by attention itself, for which the keys that are looked at are listed once a step, or before it.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor

from regard.kernels import trusted
from regard.models.parts.cache import BLOCK, DecoderState, KeysAndValues


class InPlaceState(DecoderState):
    """Room for sentences of a fixed number of tokens. A sentence that stays longer is overwritten at its end."""

    def __init__(self, state: DecoderState, tokens: int) -> None:
        assert state.steps == 0
        capacity = -(-tokens // BLOCK) * BLOCK
        super().__init__(state.source, state.source_allowed, width=state.width, capacity=capacity)
        self.own = [(self._empty(key), self._empty(value)) for key, value in self.source]
        self._listed: Any = None

    def begin_step(self) -> None:
        """Opens the next column of each sentence."""
        super().begin_step()
        self._listed = None

    def listed(self) -> Any:
        """The keys that are looked at in this step, for `kernels.cache_attention`; None where it does not serve."""
        if self._listed is None and (kernel := trusted("cache_attention")):
            places = self.capacity * self.width
            if self.width <= kernel.MOST_HYPOTHESES and places <= kernel.MOST_PLACES:
                self._listed = kernel.listed(self.seen, self.columns)
        return self._listed

    def write(self, layer: int, key: Tensor, value: Tensor) -> KeysAndValues:
        """Adds the newest keys and values, [N, H, W, K] each, and gives all so far: [N, H, columns * W, K]."""
        caches = self.own[layer]
        if not _fits(*caches, key, value) or (kernel := trusted("writing")) is None:
            return super().write(layer, key, value)
        kernel.write(*caches, key, value, self.columns)
        return self.written(layer)

    def put(self, places: Tensor, newcomers: DecoderState) -> DecoderState:
        """The sentences of another state, which have not made a step yet, take these places."""
        self._fill(places, newcomers)
        return self

    @property
    def changing(self) -> list[Tensor]:
        """What a step changes, beside the columns of the cache, which it writes before anything reads them."""
        return [self.ages, self.seen]

    @property
    def _covered(self) -> int:
        return self.capacity

    def _make_room(self) -> None:
        """There is room."""


def in_place(state: Any, tokens: int) -> InPlaceState | None:
    """The same state with room for so many tokens, if its kind can stay in place."""
    return InPlaceState(state, tokens) if isinstance(state, DecoderState) else None


def _fits(keys: Tensor, values: Tensor, key: Tensor, value: Tensor) -> bool:
    """Whether our kernel can write them."""
    return (
        keys.is_cuda
        and keys.stride() == values.stride()
        and keys.dtype == values.dtype == key.dtype == value.dtype
        and key.stride(3) == value.stride(3) == 1
        and key.size(3).bit_count() == 1
    )
