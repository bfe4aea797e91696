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
    said: tuple[int, ...]  # [N] how many words were said
    width: int
    constants: Mapping[str, Tensor] = field(default_factory=dict)  # of the model, computed once for all steps

    @property
    def positions(self) -> Tensor:
        """[R] the place of the word that is said next."""
        return self.rows["positions"]

    def after(self, rows: Mapping[str, Tensor]) -> Kept:
        """One word later; rows that are not named stay as they are."""
        later = {**self.rows, **rows, "positions": self.positions + 1}
        return replace(self, rows=later, said=tuple(count + 1 for count in self.said))

    def reorder(self, rows: Tensor) -> Kept:
        """Row r goes on from where row `rows[r]` was."""
        return replace(self, rows={name: tensor.index_select(0, rows) for name, tensor in self.rows.items()})

    def keep(self, sentences: Tensor) -> Kept:
        """Only these sentences go on, in this order, each with all of its rows."""
        rows = sentences[:, None] * self.width + torch.arange(self.width, device=sentences.device)
        kept = self.reorder(rows.flatten())
        shared = {name: tensor.index_select(0, sentences) for name, tensor in self.shared.items()}
        return replace(kept, shared=shared, said=tuple(self.said[n] for n in sentences.tolist()))

    def join(self, other: Kept) -> Kept:
        """The sentences of another state of the same model, behind these; what is shorter is filled with zeros."""
        assert self.width == other.width, f"{self.width} and {other.width} hypotheses for each sentence"
        return replace(
            self,
            rows={name: _above(tensor, other.rows[name]) for name, tensor in self.rows.items()},
            shared={name: _above(tensor, other.shared[name]) for name, tensor in self.shared.items()},
            said=self.said + other.said,
        )


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
    return Kept(rows=copied, shared=memory, said=(0,) * count, width=width, constants=constants or {})


def _above(first: Tensor, second: Tensor) -> Tensor:
    """Both, one below the other, after zeros have made them equally large."""
    sizes = [max(a, b) for a, b in zip(first.shape[1:], second.shape[1:], strict=True)]
    return torch.cat([_filled(first, sizes), _filled(second, sizes)])


def _filled(tensor: Tensor, sizes: list[int]) -> Tensor:
    missing = [size - there for size, there in zip(sizes, tensor.shape[1:], strict=True)]
    if not any(missing):
        return tensor
    return F.pad(tensor, [amount for size in reversed(missing) for amount in (0, size)])
