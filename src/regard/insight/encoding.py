"""Attention as few bytes: what a page carries.

Weights are written as their logarithms in 16 bits, steps of 1/2048, so that they are right within 0.03 % and scores
come out of the same numbers; 65,535 is a weight of zero. Of attention that never looks ahead, what lies ahead is left
out.
Queries, keys and values are for the eye: 4 bits a number, two numbers a byte, -7 to 7 of the largest in its head.

Shapes: H heads, T queries, S keys, K width of a head.
"""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from regard.insight.attention import Attention
from regard.models.protocols import AttentionName

STEPS = 2048  # of a logarithm, for 1
NOTHING = 65_535
LEVELS = 7


def encoded(attention: Attention, name: AttentionName, *, strips: bool) -> dict[str, Any]:
    """One attention: its weights, what to add to their logarithms to get scores, and on request its vectors."""
    lookup = attention.lookups[name]
    weights = lookup.weights
    heads, queries, keys = weights.shape
    causal = queries == keys and not bool(weights.triu(1).any())
    scores, formula = attention.scores(name)
    seen = weights > 0
    shift = (scores - weights.log()).masked_fill(~seen, 0.0).sum(dim=-1) / seen.sum(dim=-1).clamp(min=1)
    table: dict[str, Any] = {
        "kind": name.kind,
        "layer": name.layer,
        "shape": [heads, queries, keys],
        "causal": causal,
        "formula": formula,
        "logarithms": _text(_logarithms(weights, causal=causal)),
        "shift": _text(shift.numpy().astype("<f4")),
    }
    if strips:
        table["width"] = [lookup.query.size(-1), lookup.key.size(-1), lookup.value.size(-1)]
        table["strips"] = [_text(_strip(part)) for part in (lookup.query, lookup.key, lookup.value)]
    return table


def _logarithms(weights: Tensor, *, causal: bool) -> NDArray[np.uint16]:
    """Every weight, row by row; of causal ones, a row as far as it may look."""
    values = weights.double().numpy()
    with np.errstate(divide="ignore"):
        steps = np.rint(np.minimum(-np.log(values) * STEPS, NOTHING - 1))
    steps = np.maximum(np.where(values > 0, steps, NOTHING), 0).astype("<u2")
    if not causal:
        return steps.ravel()
    rows, columns = np.tril_indices(weights.size(1))
    return np.ascontiguousarray(steps[:, rows, columns]).ravel()


def _strip(vectors: Tensor) -> NDArray[np.uint8]:
    """[H, T, K] -> bytes, the first of two numbers in the lower half."""
    values = vectors.double().numpy()
    largest = np.abs(values).max(axis=(1, 2), keepdims=True)
    levels = np.rint(values / np.where(largest > 0, largest, 1.0) * LEVELS).astype(np.int8) + 8
    flat = levels.ravel().astype(np.uint8)
    if flat.size % 2:
        flat = np.append(flat, np.uint8(8))
    return (flat[0::2] | (flat[1::2] << 4)).astype(np.uint8)


def _text(array: NDArray[Any]) -> str:
    return base64.b64encode(array.tobytes()).decode("ascii")
