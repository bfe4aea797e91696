"""Departures from section 3.5's sinusoids: learned positions and rotary positions.

Learned positions are vectors that are added to embeddings, as sinusoids are. Rotary positions (Su et al., "RoFormer",
2021) are added to nothing: attention rotates its queries and keys by angles that grow with their positions, so that a
score depends on the distance between them. Attention over the source rotates the decoder's queries by their positions
in the target. Where both sides run in parallel, as letters and phonemes do, matching positions attend to each other
from the first steps on.

Shapes: B rows, T positions, D = d_model, H heads, K width of a key.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard.errors import LengthError


class NoPositions(nn.Module):
    """Adds nothing to embeddings."""

    def forward(self, x: Tensor, positions: Tensor) -> Tensor:  # noqa: ARG002  the others need them
        """[B, T, D] -> [B, T, D]."""
        return x


class LearnedPositions(nn.Module):
    """Table 3, row E: a learned vector for each position, up to a fixed number of them."""

    def __init__(self, count: int, d_model: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(count, d_model) / math.sqrt(2))

    def forward(self, x: Tensor, positions: Tensor) -> Tensor:
        """[B, T, D] and [B, T] -> [B, T, D]. A decoder that is stepped past its last position stays there.

        A row may be longer than any sentence in it, so the positions themselves are checked. Compiled and captured
        steps cannot read numbers: training checks its corpus before the first step.
        """
        learned = len(self.weight)
        if positions.size(1) > learned and _is_readable(positions):
            check_length(int(positions.max()) + 1, learned)
        return x + F.embedding(positions.clamp(max=learned - 1), self.weight).to(x.dtype)


def check_length(tokens: int, learned: int) -> None:
    """Refuses a sentence of more tokens than there are learned positions."""
    if tokens > learned:
        raise LengthError(
            f"a sentence of {tokens} tokens is too long: this model learned {learned} positions.\n"
            "  Split the text into shorter sentences, or train with positions = 'interleaved', which has no limit."
        )


def _is_readable(positions: Tensor) -> bool:
    """Whether the host can read numbers now; on a GPU it waits for the device."""
    if positions.is_meta or torch.compiler.is_compiling():
        return False
    return not (positions.is_cuda and torch.cuda.is_current_stream_capturing())


class NoRotation(nn.Module):
    """Leaves queries and keys as they are."""

    def forward(self, x: Tensor, positions: Tensor, heads: int) -> Tensor:  # noqa: ARG002  the other one needs them
        """[..., H * K] -> [..., H * K]."""
        return x


class Rotation(nn.Module):
    """Position p rotates pair i of a head's numbers by p / base^(2i/K). Any length, no weights."""

    def __init__(self, width: int, base: float) -> None:
        super().__init__()
        self.width, self.base = width, base

    def forward(self, x: Tensor, positions: Tensor, heads: int) -> Tensor:
        """[..., H * K] queries or keys at positions [...] -> [..., H * K]."""
        one, other = x.view(*x.shape[:-1], heads, -1).chunk(2, dim=-1)
        cosines, sines = (part[..., None, :].to(x.dtype) for part in self.angles(positions))
        return torch.cat([one * cosines - other * sines, one * sines + other * cosines], dim=-1).flatten(-2)

    def angles(self, positions: Tensor) -> tuple[Tensor, Tensor]:
        """[...] -> [..., K / 2] cosines and sines, in float32."""
        exponents = torch.arange(0, self.width, 2, device=positions.device) / self.width
        angles = positions[..., None] * self.base**-exponents
        return angles.cos(), angles.sin()
