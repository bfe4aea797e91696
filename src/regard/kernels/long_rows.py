"""Attention over rows that are too long for one tile (row_attention.py): tile after tile, and only those that matter.

A program of the GPU has a tile of queries and reads the keys that they may look at, tile by tile; of a row of many
sentences, these are few. What was summed before is made smaller where a tile has a higher score (Milakov and
Gimelshein, 2018; Dao et al., 2022). Backward, the weights are computed again, twice: one kernel has a tile of queries
and makes their gradient, another one has a tile of keys, so that nothing is added up between programs.

What comes in and goes out, and how spans tell who may look at whom, is as in row_attention.py.

Shapes: B rows, H heads, T queries, S keys, K width of a key and of a value; W = H * K.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

from regard.kernels.multiprocessors import tried_on
from regard.kernels.row_attention import Projections, agrees_by, by_head, empty, empty_gradients

LONGEST = 1 << 14


class Tiling(NamedTuple):
    """How a kernel is cut up: what a program has, and what it reads at a time."""

    own: int
    other: int
    warps: int
    stages: int


FORWARD = Tiling(own=64, other=64, warps=4, stages=3)  # queries, keys
FOR_QUERIES = Tiling(own=64, other=64, warps=4, stages=3)
FOR_KEYS = Tiling(own=64, other=64, warps=4, stages=2)  # keys, queries
_WIDE, _HALF = 64, 2  # of wider heads and of more bytes, less is read at a time
_SEARCHED = 1024  # spans that are looked through at a time


@triton.jit  # type: ignore[untyped-decorator]
def _read(start, place, stride, limit, width: tl.constexpr):  # type: ignore[no-untyped-def]
    at = start + place[:, None] * stride + tl.arange(0, width)[None, :]
    return tl.load(at, mask=(place < limit)[:, None], other=0.0)


@triton.jit  # type: ignore[untyped-decorator]
def _write(values, start, place, stride, limit, width: tl.constexpr):  # type: ignore[no-untyped-def]
    at = start + place[:, None] * stride + tl.arange(0, width)[None, :]
    tl.store(at, values.to(start.dtype.element_ty), mask=(place < limit)[:, None])


@triton.jit  # type: ignore[untyped-decorator]
def _bounds(spans, ask, queries, keys, tile: tl.constexpr):  # type: ignore[no-untyped-def]
    """The spans of some queries; where the tiles of keys begin and end, and those among them that all may look at."""
    there = ask < queries
    span = tl.load(spans + ask, mask=there, other=0)
    first, beyond = span & 0xFFFF, span >> 16
    some = there & (beyond > first)
    least = tl.min(tl.where(some, first, keys), 0) // tile * tile
    most = tl.max(tl.where(some, beyond, 0), 0)
    least = tl.minimum(least, most)
    from_all = tl.cdiv(tl.max(tl.where(there, first, 0), 0), tile) * tile
    to_all = tl.min(tl.where(there, beyond, keys), 0) // tile * tile
    middle = tl.minimum(tl.maximum(from_all, least), most)
    last = tl.maximum(to_all, middle)
    return first, beyond, least, middle, last, most


@triton.jit  # type: ignore[untyped-decorator]
def _sum_up(  # type: ignore[no-untyped-def]
    answer, highest, total, asked, key, value, first, beyond, scale, begin, end, keys, key_2, value_2,
    other: tl.constexpr, width: tl.constexpr, hides: tl.constexpr, stages: tl.constexpr,
):  # fmt: skip
    for start in tl.range(begin, end, other, num_stages=stages):
        tell = start + tl.arange(0, other)
        known = _read(key, tell, key_2, keys, width)
        scores = tl.dot(asked, tl.trans(known), input_precision="ieee") * scale
        if hides:
            may = (tell[None, :] >= first[:, None]) & (tell[None, :] < beyond[:, None])
            scores = tl.where(may, scores, float("-inf"))
        higher = tl.maximum(highest, tl.max(scores, 1))
        level = tl.where(higher == float("-inf"), 0.0, higher) if hides else higher
        shrink = tl.exp2(highest - level)
        weights = tl.exp2(scores - level[:, None])
        total = total * shrink + tl.sum(weights, 1)
        told = _read(value, tell, value_2, keys, width)
        answer = answer * shrink[:, None]
        answer += tl.dot(weights.to(told.dtype), told, input_precision="ieee")
        highest = higher
    return answer, highest, total


@triton.jit  # type: ignore[untyped-decorator]
def _attend(  # type: ignore[no-untyped-def]
    query, key, value, spans, out, normalisers, scale, heads, queries, keys, blocks,
    query_0, query_1, query_2, key_0, key_1, key_2, value_0, value_1, value_2, out_0, out_1, out_2,
    own: tl.constexpr, other: tl.constexpr, width: tl.constexpr, stages: tl.constexpr,
):  # fmt: skip
    block, both = blocks - 1 - tl.program_id(0) % blocks, tl.program_id(0) // blocks  # the longest spans first
    head, row = (both % heads).to(tl.int64), (both // heads).to(tl.int64)
    ask = block * own + tl.arange(0, own)
    key += row * key_0 + head * key_1
    value += row * value_0 + head * value_1
    asked = _read(query + row * query_0 + head * query_1, ask, query_2, queries, width)
    first, beyond, least, middle, last, most = _bounds(spans + row * queries, ask, queries, keys, other)
    highest, total = tl.full((own,), float("-inf"), tl.float32), tl.zeros((own,), tl.float32)
    answer = tl.zeros((own, width), tl.float32)
    answer, highest, total = _sum_up(
        answer, highest, total, asked, key, value, first, beyond, scale, least, middle, keys, key_2, value_2,
        other, width, True, 1,
    )  # fmt: skip
    answer, highest, total = _sum_up(
        answer, highest, total, asked, key, value, first, beyond, scale, middle, last, keys, key_2, value_2,
        other, width, False, stages,
    )  # fmt: skip
    answer, highest, total = _sum_up(
        answer, highest, total, asked, key, value, first, beyond, scale, last, most, keys, key_2, value_2,
        other, width, True, 1,
    )  # fmt: skip
    total = tl.where(total == 0.0, 1.0, total)
    highest = tl.where(highest == float("-inf"), 0.0, highest)
    _write(answer / total[:, None], out + row * out_0 + head * out_1, ask, out_2, queries, width)
    tl.store(normalisers + both.to(tl.int64) * queries + ask, highest + tl.log2(total), mask=ask < queries)


@triton.jit  # type: ignore[untyped-decorator]
def _add_for_queries(  # type: ignore[no-untyped-def]
    total, asked, wanted, normaliser, mean, key, value, first, beyond, base_2_scale, begin, end, keys, key_2, value_2,
    other: tl.constexpr, width: tl.constexpr, hides: tl.constexpr, stages: tl.constexpr,
):  # fmt: skip
    for start in tl.range(begin, end, other, num_stages=stages):
        tell = start + tl.arange(0, other)
        known = _read(key, tell, key_2, keys, width)
        told = _read(value, tell, value_2, keys, width)
        scores = tl.dot(asked, tl.trans(known), input_precision="ieee") * base_2_scale - normaliser[:, None]
        if hides:
            may = (tell[None, :] >= first[:, None]) & (tell[None, :] < beyond[:, None])
            scores = tl.where(may, scores, float("-inf"))
        pushed = tl.dot(wanted, tl.trans(told), input_precision="ieee")
        changes = tl.exp2(scores) * (pushed - mean[:, None])
        total += tl.dot(changes.to(known.dtype), known, input_precision="ieee")
    return total


@triton.jit  # type: ignore[untyped-decorator]
def _backward_for_queries(  # type: ignore[no-untyped-def]
    query, key, value, spans, answer, gradient, normalisers, means, query_gradient, scale, base_2_scale,
    heads, queries, keys, blocks, query_0, query_1, query_2, key_0, key_1, key_2, value_0, value_1, value_2,
    answer_0, answer_1, answer_2, asking_0, asking_1, asking_2,
    own: tl.constexpr, other: tl.constexpr, width: tl.constexpr, stages: tl.constexpr,
):  # fmt: skip
    block, both = blocks - 1 - tl.program_id(0) % blocks, tl.program_id(0) // blocks
    head, row = (both % heads).to(tl.int64), (both // heads).to(tl.int64)
    ask = block * own + tl.arange(0, own)
    key += row * key_0 + head * key_1
    value += row * value_0 + head * value_1
    asked = _read(query + row * query_0 + head * query_1, ask, query_2, queries, width)
    answered = _read(answer + row * answer_0 + head * answer_1, ask, answer_2, queries, width)
    wanted = _read(gradient + row * answer_0 + head * answer_1, ask, answer_2, queries, width)
    mean = tl.sum(answered.to(tl.float32) * wanted.to(tl.float32), 1)
    by_query = both.to(tl.int64) * queries + ask
    tl.store(means + by_query, mean, mask=ask < queries)
    normaliser = tl.load(normalisers + by_query, mask=ask < queries, other=0.0)
    first, beyond, least, middle, last, most = _bounds(spans + row * queries, ask, queries, keys, other)
    total = tl.zeros((own, width), tl.float32)
    total = _add_for_queries(
        total, asked, wanted, normaliser, mean, key, value, first, beyond, base_2_scale, least, middle, keys, key_2,
        value_2, other, width, True, 1,
    )  # fmt: skip
    total = _add_for_queries(
        total, asked, wanted, normaliser, mean, key, value, first, beyond, base_2_scale, middle, last, keys, key_2,
        value_2, other, width, False, stages,
    )  # fmt: skip
    total = _add_for_queries(
        total, asked, wanted, normaliser, mean, key, value, first, beyond, base_2_scale, last, most, keys, key_2,
        value_2, other, width, True, 1,
    )  # fmt: skip
    _write(total * scale, query_gradient + row * asking_0 + head * asking_1, ask, asking_2, queries, width)


@triton.jit  # type: ignore[untyped-decorator]
def _who_looks(spans, from_key, to_key, queries, searched: tl.constexpr):  # type: ignore[no-untyped-def]
    """Of all queries, the first that may look at one of these keys, and the one after the last."""
    least, most = queries, 0
    for start in tl.range(0, queries, searched):
        ask = start + tl.arange(0, searched)
        span = tl.load(spans + ask, mask=ask < queries, other=0)
        first, beyond = span & 0xFFFF, span >> 16
        looks = (ask < queries) & (first < to_key) & (beyond > from_key) & (beyond > first)
        least = tl.minimum(least, tl.min(tl.where(looks, ask, queries), 0))
        most = tl.maximum(most, tl.max(tl.where(looks, ask + 1, 0), 0))
    return least, most


@triton.jit  # type: ignore[untyped-decorator]
def _backward_for_keys(  # type: ignore[no-untyped-def]
    query, key, value, spans, gradient, normalisers, means, key_gradient, value_gradient, scale, base_2_scale,
    heads, queries, keys, blocks, query_0, query_1, query_2, key_0, key_1, key_2, value_0, value_1, value_2,
    answer_0, answer_1, answer_2, telling_0, telling_1, telling_2,
    own: tl.constexpr, other: tl.constexpr, width: tl.constexpr, searched: tl.constexpr, stages: tl.constexpr,
):  # fmt: skip
    block, both = tl.program_id(0) % blocks, tl.program_id(0) // blocks
    head, row = (both % heads).to(tl.int64), (both // heads).to(tl.int64)
    tell = block * own + tl.arange(0, own)
    query += row * query_0 + head * query_1
    gradient += row * answer_0 + head * answer_1
    spans += row * queries
    normalisers += both.to(tl.int64) * queries
    means += both.to(tl.int64) * queries
    known = _read(key + row * key_0 + head * key_1, tell, key_2, keys, width)
    told = _read(value + row * value_0 + head * value_1, tell, value_2, keys, width)
    for_keys, for_values = tl.zeros((own, width), tl.float32), tl.zeros((own, width), tl.float32)
    least, most = _who_looks(spans, block * own, block * own + own, queries, searched)
    for start in tl.range(least // other * other, most, other, num_stages=stages):
        ask = start + tl.arange(0, other)
        asked = _read(query, ask, query_2, queries, width)
        wanted = _read(gradient, ask, answer_2, queries, width)
        span = tl.load(spans + ask, mask=ask < queries, other=0)
        normaliser = tl.load(normalisers + ask, mask=ask < queries, other=0.0)
        mean = tl.load(means + ask, mask=ask < queries, other=0.0)
        first, beyond = span & 0xFFFF, span >> 16
        scores = tl.dot(known, tl.trans(asked), input_precision="ieee") * base_2_scale - normaliser[None, :]
        may = (tell[:, None] >= first[None, :]) & (tell[:, None] < beyond[None, :])
        weights = tl.exp2(tl.where(may, scores, float("-inf")))
        for_values += tl.dot(weights.to(wanted.dtype), wanted, input_precision="ieee")
        pushed = tl.dot(told, tl.trans(wanted), input_precision="ieee")
        changes = weights * (pushed - mean[None, :])
        for_keys += tl.dot(changes.to(asked.dtype), asked, input_precision="ieee")
    told_at = row * telling_0 + head * telling_1
    _write(for_keys * scale, key_gradient + told_at, tell, telling_2, keys, width)
    _write(for_values, value_gradient + told_at, tell, telling_2, keys, width)


@torch.library.custom_op(
    "regard::long_row_attention",
    mutates_args=(),
    schema="(Tensor asking, Tensor? telling, Tensor spans, int heads) -> (Tensor, Tensor)",
)
def _long_row_attention(asking: Tensor, telling: Tensor | None, spans: Tensor, heads: int) -> tuple[Tensor, Tensor]:
    """What `regard::row_attention` gives, for rows of any length."""
    answers, normalisers = empty(asking, telling, heads)
    query, key, value = Projections.of(asking.contiguous(), None if telling is None else telling.contiguous(), heads)
    (out,) = by_head(answers, 1, heads)
    rows, _, queries, width = query.shape
    tiling = _fitting(FORWARD, query, key)
    blocks = triton.cdiv(queries, tiling.own)
    kernel: Any = _attend
    kernel[(rows * heads * blocks,)](
        query, key, value, spans.contiguous(), out, normalisers, math.log2(math.e) / math.sqrt(width),
        heads, queries, key.size(2), blocks,
        *query.stride()[:3], *key.stride()[:3], *value.stride()[:3], *out.stride()[:3],
        **_sizes(tiling, width),
    )  # fmt: skip
    return answers, normalisers


@_long_row_attention.register_fake
def _(asking: Tensor, telling: Tensor | None, _spans: Tensor, heads: int) -> tuple[Tensor, Tensor]:
    return empty(asking, telling, heads)


@torch.library.custom_op(
    "regard::long_row_attention_backward",
    mutates_args=(),
    schema="(Tensor gradient, Tensor asking, Tensor? telling, Tensor spans, Tensor answers, Tensor normalisers,"
    " int heads) -> (Tensor, Tensor)",
)
def _long_row_attention_backward(
    gradient: Tensor,
    asking: Tensor,
    telling: Tensor | None,
    spans: Tensor,
    answers: Tensor,
    normalisers: Tensor,
    heads: int,
) -> tuple[Tensor, Tensor]:
    """The gradients of what asked and of what told, as they came; [0] where all came as one."""
    for_asking, for_telling = empty_gradients(asking, telling)
    query, key, value = Projections.of(asking.contiguous(), None if telling is None else telling.contiguous(), heads)
    for_query, for_key, for_value = Projections.of(for_asking, None if telling is None else for_telling, heads)
    (wanted,), (answered,) = by_head(gradient.contiguous(), 1, heads), by_head(answers.contiguous(), 1, heads)
    rows, _, queries, width = query.shape
    keys, means = key.size(2), torch.empty_like(normalisers)
    spans, scale = spans.contiguous(), 1 / math.sqrt(width)
    strides = (*query.stride()[:3], *key.stride()[:3], *value.stride()[:3], *wanted.stride()[:3])
    tiling = _fitting(FOR_QUERIES, query, key)
    blocks = triton.cdiv(queries, tiling.own)
    kernel: Any = _backward_for_queries
    kernel[(rows * heads * blocks,)](
        query, key, value, spans, answered, wanted, normalisers, means, for_query,
        scale, scale * math.log2(math.e), heads, queries, keys, blocks, *strides, *for_query.stride()[:3],
        **_sizes(tiling, width),
    )  # fmt: skip
    tiling = _fitting(FOR_KEYS, key, query)
    blocks, kernel = triton.cdiv(keys, tiling.own), _backward_for_keys
    searched = min(_SEARCHED, _power_of_2(queries))
    kernel[(rows * heads * blocks,)](
        query, key, value, spans, wanted, normalisers, means, for_key, for_value,
        scale, scale * math.log2(math.e), heads, queries, keys, blocks, *strides, *for_key.stride()[:3],
        searched=searched, **_sizes(tiling, width),
    )  # fmt: skip
    return for_asking, for_telling


@_long_row_attention_backward.register_fake
def _(
    _gradient: Tensor,
    asking: Tensor,
    telling: Tensor | None,
    _spans: Tensor,
    _answers: Tensor,
    _normalisers: Tensor,
    _heads: int,
) -> tuple[Tensor, Tensor]:
    return empty_gradients(asking, telling)


def _keep(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
    asking, telling, spans, ctx.heads = inputs
    ctx.mark_non_differentiable(output[1])
    ctx.set_materialize_grads(False)  # else what has no gradient would get zeros
    ctx.save_for_backward(asking, telling, spans, *output)


def _differentiate(ctx: Any, gradient: Tensor, _none: None) -> tuple[Tensor, Tensor | None, None, None]:
    for_asking, for_telling = torch.ops.regard.long_row_attention_backward(gradient, *ctx.saved_tensors, ctx.heads)
    return for_asking, None if ctx.saved_tensors[1] is None else for_telling, None, None


_long_row_attention.register_autograd(_differentiate, setup_context=_keep)


def _fitting(tiling: Tiling, own: Tensor, other: Tensor) -> Tiling:
    """Smaller tiles where there is less, or where heads are wide."""
    part = 2 if own.size(3) > _WIDE or own.element_size() > _HALF else 1
    most = [_power_of_2(tensor.size(2)) for tensor in (own, other)]
    return tiling._replace(own=min(tiling.own // part, most[0]), other=min(tiling.other // part, most[1]))


def _sizes(tiling: Tiling, width: int) -> dict[str, Any]:
    sizes = {"own": tiling.own, "other": tiling.other, "width": width, "stages": tiling.stages}
    return sizes | {"num_warps": tiling.warps}


def _power_of_2(length: int) -> int:
    """The next one, and at least the 16 that a product needs."""
    return max(16, int(triton.next_power_of_2(length)))


def agrees() -> bool:
    """Whether answers and gradients are those of PyTorch in float32, as nearly as half of it can tell."""
    length = 300 if tried_on()[0].type == "cuda" else 150
    return agrees_by(lambda *given: torch.ops.regard.long_row_attention(*given)[0], length=length, sentence=70)
