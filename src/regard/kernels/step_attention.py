"""Attention of a few queries over many keys, as a decoder's step needs it: the hypotheses of a sentence over its cache.

PyTorch's kernels give a tile of 64 queries to each sentence and head, of which a beam of four fills a sixteenth. Here a
program of the GPU has 16, and reads keys and values once, up to the last that one of its queries may look at: most of a
cache is empty most of the time. What may not be looked at has no weight at all. Where all queries may look at the same
keys, as at a source, these alone are read.

Shapes: B sentences, H heads, T queries, S keys, K width of a key and of a value.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

from regard.kernels.multiprocessors import tried_on

_KEYS = 64  # that are read at a time
_MASK = 1024  # keys whose mask is read at a time


class Tiling(NamedTuple):
    """For keys that all queries share: how many are read at a time, by how many warps."""

    keys: int
    warps: int
    stages: int = 1  # the blocks that are in memory at a time


SHARED = Tiling(keys=32, warps=1)


@triton.jit  # type: ignore[untyped-decorator]
def _attend(  # type: ignore[no-untyped-def]
    query, key, value, allowed, out, scale, heads, queries, keys,
    query_0, query_1, query_2, key_0, key_1, key_2, value_0, value_1, value_2,
    allowed_0, allowed_2, out_0, out_1, out_2,
    tile: tl.constexpr, width: tl.constexpr, block: tl.constexpr, queries_2: tl.constexpr, span: tl.constexpr,
):  # fmt: skip
    sentence, head = (tl.program_id(0) // heads).to(tl.int64), (tl.program_id(0) % heads).to(tl.int64)
    row, lane, within = tl.arange(0, tile), tl.arange(0, width), tl.arange(0, block)
    real = row < queries
    asked = tl.load(
        query + sentence * query_0 + head * query_1 + row[:, None] * query_2 + lane[None, :],
        mask=real[:, None], other=0.0,
    )  # fmt: skip
    allowed += sentence * allowed_0
    asking, looked_at = tl.arange(0, queries_2), tl.arange(0, span)
    last = tl.zeros((queries_2, span), tl.int32)
    for first in range(0, keys, span):
        place = first + looked_at
        may = tl.load(
            allowed + asking[:, None] * allowed_2 + place[None, :],
            mask=(asking < queries)[:, None] & (place < keys)[None, :], other=0,
        )  # fmt: skip
        last = tl.where(may != 0, place[None, :] + 1, last)
    end = tl.max(tl.max(last, 1), 0)
    highest = tl.full((tile,), float("-inf"), tl.float32)
    total = tl.zeros((tile,), tl.float32)
    answer = tl.zeros((tile, width), tl.float32)
    key += sentence * key_0 + head * key_1
    value += sentence * value_0 + head * value_1
    for first in tl.range(0, end, block, num_stages=2):
        place = first + within
        there = place < end
        may = tl.load(
            allowed + row[:, None] * allowed_2 + place[None, :], mask=real[:, None] & there[None, :], other=0
        )  # fmt: skip
        known = tl.load(key + place[:, None] * key_2 + lane[None, :], mask=there[:, None], other=0.0)
        told = tl.load(value + place[:, None] * value_2 + lane[None, :], mask=there[:, None], other=0.0)
        scores = tl.dot(asked, tl.trans(known), input_precision="ieee") * scale
        scores = tl.where(may != 0, scores, float("-inf"))
        above = tl.maximum(highest, tl.max(scores, 1))
        base = tl.where(above == float("-inf"), 0.0, above)
        weights = tl.exp(scores - base[:, None])
        before = tl.exp(highest - base)
        total = total * before + tl.sum(weights, 1)
        answer = answer * before[:, None] + tl.dot(weights.to(told.dtype), told, input_precision="ieee")
        highest = above
    answer = answer / tl.where(total == 0.0, 1.0, total)[:, None]
    tl.store(
        out + sentence * out_0 + head * out_1 + row[:, None] * out_2 + lane[None, :],
        answer.to(out.dtype.element_ty), mask=real[:, None],
    )  # fmt: skip


@triton.jit  # type: ignore[untyped-decorator]
def _attend_to_the_same(  # type: ignore[no-untyped-def]
    query, key, value, allowed, out, scale, heads, queries,
    query_0, query_1, query_2, key_0, key_1, key_2, value_0, value_1, value_2, allowed_0, out_0, out_1, out_2,
    keys: tl.constexpr, tile: tl.constexpr, width: tl.constexpr, block: tl.constexpr, stages: tl.constexpr,
):  # fmt: skip
    sentence, head = (tl.program_id(0) // heads).to(tl.int64), (tl.program_id(0) % heads).to(tl.int64)
    row, lane, within = tl.arange(0, tile)[:, None], tl.arange(0, width)[None, :], tl.arange(0, block)
    real = row < queries
    asked = tl.load(query + sentence * query_0 + head * query_1 + row * query_2 + lane, mask=real, other=0.0)
    allowed += sentence * allowed_0
    key += sentence * key_0 + head * key_1
    value += sentence * value_0 + head * value_1
    highest = tl.full((tile,), float("-inf"), tl.float32)
    total = tl.zeros((tile,), tl.float32)
    answer = tl.zeros((tile, width), tl.float32)
    for first in tl.range(0, keys, block, num_stages=stages):
        place = first + within
        may = tl.load(allowed + place, mask=place < keys, other=0) != 0
        known = tl.load(key + place[:, None] * key_2 + lane, mask=may[:, None], other=0.0)
        told = tl.load(value + place[:, None] * value_2 + lane, mask=may[:, None], other=0.0)
        scores = tl.dot(asked, tl.trans(known), input_precision="ieee") * scale
        scores = tl.where(may[None, :], scores, float("-inf"))
        above = tl.maximum(highest, tl.max(scores, 1))
        base = tl.where(above == float("-inf"), 0.0, above)
        weights = tl.exp(scores - base[:, None])
        before = tl.exp(highest - base)
        total = total * before + tl.sum(weights, 1)
        answer = answer * before[:, None] + tl.dot(weights.to(told.dtype), told, input_precision="ieee")
        highest = above
    answer = answer / tl.where(total == 0.0, 1.0, total)[:, None]
    there = out + sentence * out_0 + head * out_1 + row * out_2 + lane
    tl.store(there, answer.to(out.dtype.element_ty), mask=real)


def attend(query: Tensor, key: Tensor, value: Tensor, allowed: Tensor) -> Tensor:
    """[B, H, T, K], [B, H, S, K] twice and [B, 1, T or 1, S] -> [B, H, T, K]."""
    (sentences, heads, queries, width), keys = query.shape, key.size(2)
    if allowed.size(2) == 1:
        return attend_to_the_same(query, key, value, allowed)
    most = max(16, triton.next_power_of_2(keys))
    out = _room_for(query)
    kernel: Any = _attend
    kernel[(sentences * heads,)](
        query, key, value, allowed.view(torch.uint8), out, 1 / math.sqrt(width), heads, queries, keys,
        *query.stride()[:3], *key.stride()[:3], *value.stride()[:3],
        allowed.stride(0), allowed.stride(2), *out.stride()[:3],
        tile=16, width=width, block=min(_KEYS, most), queries_2=triton.next_power_of_2(queries), span=min(_MASK, most),
        num_warps=4,
    )  # fmt: skip
    return out


def attend_to_the_same(
    query: Tensor, key: Tensor, value: Tensor, allowed: Tensor, *, tiling: Tiling = SHARED
) -> Tensor:
    """[B, H, T, K], [B, H, S, K] twice and [B, 1, 1, S] -> [B, H, T, K]."""
    (sentences, heads, queries, width), keys = query.shape, key.size(2)
    out = _room_for(query)
    kernel: Any = _attend_to_the_same
    kernel[(sentences * heads,)](
        query, key, value, allowed.view(torch.uint8), out, 1 / math.sqrt(width), heads, queries,
        *query.stride()[:3], *key.stride()[:3], *value.stride()[:3], allowed.stride(0), *out.stride()[:3],
        keys=keys, tile=16, width=width, block=tiling.keys, stages=tiling.stages, num_warps=tiling.warps,
    )  # fmt: skip
    return out


def _room_for(query: Tensor) -> Tensor:
    """[B, H, T, K], in the order in which the next product reads it."""
    sentences, heads, queries, width = query.shape
    return torch.empty(sentences, queries, heads, width, dtype=query.dtype, device=query.device).transpose(1, 2)


def agrees() -> bool:
    """Whether it gives what PyTorch gives, in float32 and in half of it, for masks of both shapes."""
    from torch.nn import functional as F

    device, half = tried_on()
    draw = torch.Generator().manual_seed(0)
    query, key, value = (torch.randn(2, 2, size, 16, generator=draw).to(device) for size in (4, 70, 70))
    allowed = torch.rand(2, 1, 4, 70, generator=draw).to(device) < 0.3
    allowed[..., 0] = True
    for mask in (allowed, allowed[:, :, :1]):
        expected = F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        for dtype, error in ((torch.float32, 1e-4), (half, 5e-2)):
            found = attend(query.to(dtype), key.to(dtype), value.to(dtype), mask)
            if not torch.allclose(found.float(), expected, rtol=0, atol=error):
                return False
    return True
