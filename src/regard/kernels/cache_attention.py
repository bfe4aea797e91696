"""Attention of a sentence's hypotheses over the cache that they share, for one step; it also writes the newest keys.

A cache has a key for each hypothesis and column, but hypotheses that go on from the same one look at the same keys: of
the older columns, most keys are never looked at again. So a step lists the keys of each sentence that at least one of
its hypotheses looks at, once for all layers and heads, and attention reads these alone. The newest key and value of a
hypothesis, which only this hypothesis looks at, come from the product that made them, and are written into the cache on
the way.

An entry of the list is the place of a key, times 2^16, and a bit for each hypothesis that looks at it.

Shapes: N sentences, W hypotheses of each, C columns, H heads, K width of a key and of a value.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

from regard.kernels.multiprocessors import tried_on

MOST_HYPOTHESES, MOST_PLACES = 16, 1 << 15  # what an entry has room for


class Tiling(NamedTuple):
    """How many keys are read at a time, by how many warps, and how many such blocks are in memory at a time."""

    keys: int
    warps: int
    stages: int


TILING = Tiling(keys=32, warps=1, stages=2)


class Listed(NamedTuple):
    """The keys that are looked at, and the columns that are being written."""

    entries: Tensor  # [N, C * W] int32, in the order of their places
    counts: Tensor  # [N] int32, of the entries
    columns: Tensor  # [N] int64


@triton.jit  # type: ignore[untyped-decorator]
def _list(  # type: ignore[no-untyped-def]
    seen, columns, entries, counts, room, hypotheses: tl.constexpr, size: tl.constexpr
):
    sentence = tl.program_id(0).to(tl.int64)
    place = tl.arange(0, size)
    before = place < tl.load(columns + sentence) * hypotheses
    seen += sentence * room * hypotheses
    looking = tl.zeros((size,), tl.int32)
    for hypothesis in tl.static_range(hypotheses):
        sees = tl.load(seen + hypothesis * room + place, mask=before, other=0)
        looking += (sees != 0).to(tl.int32) << hypothesis
    wanted = (looking != 0).to(tl.int32)
    behind = tl.cumsum(wanted, 0)
    tl.store(entries + sentence * room + behind - 1, (place << 16) + looking, mask=wanted != 0)
    tl.store(counts + sentence, tl.sum(wanted, 0))


@triton.jit  # type: ignore[untyped-decorator]
def _attend(  # type: ignore[no-untyped-def]
    joined, keys, values, entries, counts, columns, out, scale, room,
    heads: tl.constexpr, hypotheses: tl.constexpr, width: tl.constexpr, tile: tl.constexpr, block: tl.constexpr,
    stages: tl.constexpr,
):  # fmt: skip
    inner: tl.constexpr = heads * width
    sentence, head = (tl.program_id(0) // heads).to(tl.int64), tl.program_id(0) % heads
    count, column = tl.load(counts + sentence), tl.load(columns + sentence).to(tl.int32)
    row, lane, within = tl.arange(0, tile)[:, None], tl.arange(0, width)[None, :], tl.arange(0, block)
    real = row < hypotheses
    asking = joined + sentence * (hypotheses * 3 * inner) + (row * (3 * inner) + head * width + lane)
    query = tl.load(asking, mask=real, other=0.0)
    new_key = tl.load(asking + inner, mask=real, other=0.0)
    new_value = tl.load(asking + 2 * inner, mask=real, other=0.0)
    keys += (sentence * heads + head) * room * width
    values += (sentence * heads + head) * room * width
    newest = (column * hypotheses + row) * width + lane
    tl.store(keys + newest, new_key, mask=real)
    tl.store(values + newest, new_value, mask=real)
    entries += sentence * room
    highest = tl.sum(query.to(tl.float32) * new_key.to(tl.float32), 1) * scale
    total = tl.full((tile,), 1.0, tl.float32)
    answer = new_value.to(tl.float32)
    for first in tl.range(0, count, block, num_stages=stages):
        place = first + within
        entry = tl.load(entries + place, mask=place < count, other=0)
        there = (entry != 0)[:, None]
        at = (entry >> 16)[:, None] * width + lane
        known = tl.load(keys + at, mask=there, other=0.0)
        told = tl.load(values + at, mask=there, other=0.0)
        scores = tl.dot(query, tl.trans(known), input_precision="ieee") * scale
        scores = tl.where((entry[None, :] >> row) & 1 != 0, scores, float("-inf"))
        above = tl.maximum(highest, tl.max(scores, 1))
        weights = tl.exp(scores - above[:, None])
        before = tl.exp(highest - above)
        total = total * before + tl.sum(weights, 1)
        answer = answer * before[:, None] + tl.dot(weights.to(told.dtype), told, input_precision="ieee")
        highest = above
    answer = answer / total[:, None]
    there = out + sentence * (hypotheses * inner) + (row * inner + head * width + lane)
    tl.store(there, answer.to(out.dtype.element_ty), mask=real)


def listed(seen: Tensor, columns: Tensor) -> Listed:
    """[N, W, C, W] what each hypothesis has seen, and [N] the columns that are being written."""
    sentences, hypotheses, capacity, _ = seen.shape
    room = capacity * hypotheses
    assert seen.is_contiguous()
    entries = torch.empty(sentences, room, dtype=torch.int32, device=seen.device)
    counts = torch.empty(sentences, dtype=torch.int32, device=seen.device)
    kernel: Any = _list
    kernel[(sentences,)](
        seen.view(torch.uint8), columns, entries, counts, room,
        hypotheses=hypotheses, size=triton.next_power_of_2(room), num_warps=1 if room <= 1024 else 4,
    )  # fmt: skip
    return Listed(entries, counts, columns)


def attend(joined: Tensor, keys: Tensor, values: Tensor, among: Listed, *, tiling: Tiling = TILING) -> Tensor:
    """[N, W, 3 * H * K] the newest queries, keys and values, and the caches, [N, H, C, W, K] -> [N, W, H * K]."""
    sentences, heads, capacity, hypotheses, width = keys.shape
    assert joined.is_contiguous()
    assert keys.is_contiguous()
    assert values.is_contiguous()
    out = torch.empty(sentences, hypotheses, heads * width, dtype=joined.dtype, device=joined.device)
    kernel: Any = _attend
    kernel[(sentences * heads,)](
        joined, keys, values, among.entries, among.counts, among.columns, out, 1 / math.sqrt(width),
        capacity * hypotheses, heads=heads, hypotheses=hypotheses, width=width, tile=16, block=tiling.keys,
        stages=tiling.stages, num_warps=tiling.warps,
    )  # fmt: skip
    return out


def agrees() -> bool:
    """Whether it gives what PyTorch gives, in float32 and in half of it, and writes nothing but the newest keys."""
    device, half = tried_on()
    draw = torch.Generator().manual_seed(0)
    columns = torch.tensor([0, 5, 39], device=device)
    seen = torch.rand(3, 4, 40, 4, generator=draw).to(device) < 0.2
    for dtype, error in ((torch.float32, 1e-4), (half, 2e-2)):
        joined = torch.randn(3, 4, 3 * 2 * 16, generator=draw).to(device, dtype)
        caches = torch.randn(2, 3, 2, 40, 4, 16, generator=draw).to(device, dtype)
        expected, written = _plainly(joined, caches, seen, columns)
        found = attend(joined, caches[0], caches[1], listed(seen, columns))
        if not (torch.allclose(found.float(), expected, rtol=0, atol=error) and torch.equal(caches, written)):
            return False
    return True


def _plainly(joined: Tensor, caches: Tensor, seen: Tensor, columns: Tensor) -> tuple[Tensor, Tensor]:
    """What attention gives in float32, and what the caches are then."""
    from torch.nn import functional as F

    (sentences, hypotheses, _), heads, width = joined.shape, caches.size(2), caches.size(5)
    query, *new = joined.view(sentences, hypotheses, 3, heads, width).permute(2, 0, 3, 1, 4)
    places, written = torch.arange(sentences, device=joined.device), caches.clone()
    for cache, newest in zip(written, new, strict=True):
        cache[places, :, columns] = newest
    past = torch.arange(seen.size(2), device=seen.device) < columns[:, None]
    allowed = seen & past[:, None, :, None]
    allowed[places, :, columns] = torch.eye(hypotheses, dtype=torch.bool, device=seen.device)
    key, value = (cache.float().flatten(2, 3) for cache in written)
    heads_of_all = F.scaled_dot_product_attention(query.float(), key, value, attn_mask=allowed[:, None].flatten(3))
    return heads_of_all.transpose(1, 2).flatten(2), written
