"""One vector for a whole text, at each of its positions: what a classifier reads its label from.

Shapes: B rows, T positions, D width.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from torch import Tensor


def mean_of_text(x: Tensor, segments: Tensor) -> Tensor:
    """[B, T, D] and [B, T] -> [B, T, D]: at each position, the mean over its own text."""
    own = (segments[:, :, None] == segments[:, None, :]).to(x.dtype)  # [B, T, T]
    return own @ x / own.sum(2, keepdim=True)


def maximum_of_text(x: Tensor, segments: Tensor) -> Tensor:
    """[B, T, D] and [B, T] -> [B, T, D]: at each position, the largest value of each number over its own text."""
    texts = segments.long()[:, :, None].expand_as(x)
    lowest = x.new_full((x.size(0), x.size(1) + 1, x.size(2)), -math.inf)  # at most as many texts as tokens
    return lowest.scatter_reduce(1, texts, x, "amax").gather(1, texts)


def own_state(x: Tensor, segments: Tensor) -> Tensor:  # noqa: ARG001  the others need them
    """[B, T, D] as they are; a label stands beside the token that it is read from."""
    return x


POOLINGS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "none": own_state,
    "first": own_state,
    "mean": mean_of_text,
    "max": maximum_of_text,
}
