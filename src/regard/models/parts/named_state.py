"""What the decoders of this folder keep between two steps: named tensors, of each hypothesis and of each sentence.

Shapes: N sentences, R = N * width rows, those of one sentence side by side; what follows these is the model's own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor
from torch.nn import functional as F


@dataclass(frozen=True, kw_only=True)
class Kept:
    """A decoder's memory of N sentences, each with `width` hypotheses."""

    rows: Mapping[str, Tensor]  # [R, ...] of each hypothesis
    shared: Mapping[str, Tensor]  # [N, ...] of each sentence, for all of its hypotheses
    width: int
    constants: Mapping[str, Tensor] = field(default_factory=dict)  # of the model, computed once for all steps

    @property
    def positions(self) -> Tensor:
        """[R] the position of the next token."""
        return self.rows["positions"]

    def after(self, rows: Mapping[str, Tensor]) -> Kept:
        """One word later; rows that are not named stay as they are."""
        return replace(self, rows={**self.rows, **rows, "positions": self.positions + 1})

    def reorder(self, rows: Tensor) -> Kept:
        """Row r goes on from where row `rows[r]` was."""
        return replace(self, rows={name: tensor.index_select(0, rows) for name, tensor in self.rows.items()})

    def keep(self, sentences: Tensor) -> Kept:
        """Only these sentences go on, in this order, each with all of its rows."""
        shared = {name: tensor.index_select(0, sentences) for name, tensor in self.shared.items()}
        return replace(self.reorder(self._rows_of(sentences)), shared=shared)

    def put(self, places: Tensor, newcomers: Kept) -> Kept:
        """The sentences of another state take these places; where sizes differ, the smaller is filled with zeros."""
        assert self.width == newcomers.width, f"{self.width} and {newcomers.width} hypotheses for each sentence"
        rows = self._rows_of(places)
        return replace(
            self,
            rows={name: _put(tensor, rows, newcomers.rows[name]) for name, tensor in self.rows.items()},
            shared={name: _put(tensor, places, newcomers.shared[name]) for name, tensor in self.shared.items()},
        )

    def append(self, newcomers: Kept) -> Kept:
        """The sentences of another state take places behind the last; the smaller sizes are filled with zeros."""
        assert self.width == newcomers.width, f"{self.width} and {newcomers.width} hypotheses for each sentence"
        return replace(
            self,
            rows={name: _behind(tensor, newcomers.rows[name]) for name, tensor in self.rows.items()},
            shared={name: _behind(tensor, newcomers.shared[name]) for name, tensor in self.shared.items()},
        )

    def _rows_of(self, sentences: Tensor) -> Tensor:
        rows = sentences[:, None] * self.width + torch.arange(self.width, device=sentences.device)
        return rows.flatten()


def started(
    memory: Mapping[str, Tensor],
    rows: Mapping[str, Tensor],
    *,
    width: int,
    constants: Mapping[str, Tensor] | None = None,
) -> Kept:
    """A decoder that has said nothing: `memory` is [N, ...] and shared, `rows` are [N, ...] and copied for each."""
    any_of_them = next(iter([*memory.values(), *rows.values()]))
    count = any_of_them.size(0)
    copied = {name: tensor.repeat_interleave(width, dim=0) for name, tensor in rows.items()}
    copied["positions"] = torch.zeros(count * width, dtype=torch.long, device=any_of_them.device)
    return Kept(rows=copied, shared=memory, width=width, constants=constants or {})


def _put(tensor: Tensor, places: Tensor, newcomers: Tensor) -> Tensor:
    sizes = [max(a, b) for a, b in zip(tensor.shape[1:], newcomers.shape[1:], strict=True)]
    return _filled(tensor, sizes).index_copy(0, places, _filled(newcomers, sizes).to(tensor.dtype))


def _behind(tensor: Tensor, newcomers: Tensor) -> Tensor:
    sizes = [max(a, b) for a, b in zip(tensor.shape[1:], newcomers.shape[1:], strict=True)]
    return torch.cat([_filled(tensor, sizes), _filled(newcomers, sizes).to(tensor.dtype)])


def _filled(tensor: Tensor, sizes: list[int]) -> Tensor:
    missing = [size - there for size, there in zip(sizes, tensor.shape[1:], strict=True)]
    if not any(missing):
        return tensor
    return F.pad(tensor, [amount for size in reversed(missing) for amount in (0, size)])
