"""Where a word stands, told in other ways than by section 3.5's sinusoids, which are in transformer.py.

Learned positions are vectors that are added to words, as sinusoids are. Rotary positions (Su et al., "RoFormer", 2021)
are added to nothing: attention turns its queries and keys by angles that grow with their positions, so that a score
depends on how far apart they stand. Attention over the source turns the decoder's queries by their places in the
target: where both sides run side by side, as letters and sounds do, what belongs together is found from the first steps
on.

Shapes: B rows, T positions, D = d_model, H heads, K width of a key.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn

from regard.errors import LengthError


class Turn(NamedTuple):
    """The angles of some positions, [..., K / 2] each: those of [B, T], of a list of tokens, or of one position."""

    cosines: Tensor
    sines: Tensor

    def __call__(self, x: Tensor, heads: int) -> Tensor:
        """[..., H * K] queries or keys -> the same, each pair of their numbers turned."""
        one, other = x.view(*x.shape[:-1], heads, -1).chunk(2, dim=-1)
        cosines, sines = (part[..., None, :].to(x.dtype) for part in self)
        return torch.cat([one * cosines - other * sines, one * sines + other * cosines], dim=-1).flatten(-2)


Turns = tuple[Turn | None, Turn | None]
"""Of the queries and of the keys; None where positions are added to words."""


class Positions(nn.Module):
    """What tells a model where a word stands."""

    def forward(self, first: int, length: int, *, like: Tensor) -> Tensor:
        """[length, D] what is added to words, for the positions from `first` on."""
        raise NotImplementedError

    def at(self, positions: Tensor, *, like: Tensor) -> Tensor:
        """[B, T] positions in their sentences -> [B, T, D] what is added to words."""
        return self(0, positions.size(1), like=like)[positions]

    def table(self, newest: int, capacity: int, *, like: Tensor) -> Tensor:
        """[more than `newest`, D] the positions from the first on, as many as there is capacity, or all."""
        return self(0, max(newest + 1, capacity), like=like)

    def turn(self, positions: Tensor) -> Turn | None:  # noqa: ARG002  it is needed where it is overridden
        """By how much attention turns what stands at these positions."""
        return None


class LearnedPositions(Positions):
    """Table 3, row E: a learned vector for each position, as many as there are."""

    def __init__(self, count: int, d_model: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(count, d_model) / math.sqrt(2))

    def forward(self, first: int, length: int, *, like: Tensor) -> Tensor:
        """[at most length, D] for the positions from `first` on, as many as were learned."""
        return self.weight[first : first + length].to(like.dtype)

    def at(self, positions: Tensor, *, like: Tensor) -> Tensor:
        """[B, T] positions in their sentences -> [B, T, D].

        A row may be longer than any sentence in it, so the positions themselves are checked. Compiled and captured
        steps cannot read numbers: training checks its corpus before the first step (`check_positions`).
        """
        if positions.size(1) > len(self.weight) and _can_be_looked_at(positions):
            check_length(int(positions.max()) + 1, len(self.weight))
        return super().at(positions, like=like)

    def table(self, newest: int, capacity: int, *, like: Tensor) -> Tensor:
        """[more than `newest`, D] the positions from the first on, as many as there is capacity, or all."""
        check_length(newest + 1, len(self.weight))
        return super().table(newest, min(capacity, len(self.weight)), like=like)


def check_length(tokens: int, learned: int) -> None:
    """Refuses a sentence of more tokens than there are learned positions."""
    if tokens > learned:
        raise LengthError(
            f"a sentence of {tokens} tokens is too long: this model learned {learned} positions.\n"
            "  Split the text into shorter sentences, or train with positions = 'interleaved', which has no limit."
        )


def _can_be_looked_at(positions: Tensor) -> bool:
    """Whether reading a number now is possible; on a GPU it waits for the device."""
    if positions.is_meta or torch.compiler.is_compiling():
        return False
    return not (positions.is_cuda and torch.cuda.is_current_stream_capturing())


class RotaryPositions(Positions):
    """Nothing is added; position p turns pair i of a head's numbers by p / base^(2i/K). Any length, no weights."""

    def __init__(self, width: int, base: float) -> None:
        super().__init__()
        self.width, self.base = width, base

    def forward(self, first: int, length: int, *, like: Tensor) -> Tensor:  # noqa: ARG002  all are alike
        """[length, 1] zeros."""
        return like.new_zeros(length, 1)

    def turn(self, positions: Tensor) -> Turn | None:
        """[...] -> [..., K / 2] twice, in float32."""
        exponents = torch.arange(0, self.width, 2, device=positions.device) / self.width
        angles = positions[..., None] * self.base**-exponents
        return Turn(angles.cos(), angles.sin())
