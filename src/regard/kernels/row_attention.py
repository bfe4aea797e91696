"""Attention over rows of up to 128 tokens, as training needs it: forward and backward, one kernel each.

All keys and values of a row and a head fit into one tile. So a program of the GPU reads each of them once, sees whole
rows of scores, and writes its part of every gradient itself: nothing is added up between programs. The keys that a
query may look at are neighbours, those of its own sentence, so one number tells its span: the first of them, and 2^16
times the one after the last. A query that may look at nothing gets zeros, and has no gradient.

Queries, keys and values are taken as one matrix product gives them, side by side: all three where a row looks at
itself, else keys and values. Their gradients are written side by side as well, for the products backward. In all of
them, and in the answers, the heads of a token lie side by side too, so that nothing is ever copied.

Backward, the weights are computed again. A program reads the next row and head while it computes one, since there is
room for one program alone.

Shapes: B rows, H heads, T queries, S keys, K width of a key and of a value; W = H * K.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

from regard.kernels.multiprocessors import multiprocessors, tried_on

LONGEST = 128
WIDTHS = (16, 32, 64, 128)


class Tiling(NamedTuple):
    """How a kernel is cut up. Programs that last take one row and head after the other, and read ahead."""

    queries: int  # that are read at a time
    warps: int
    lasting: int = 0  # programs on each multiprocessor, of full length; 0 starts one for every row and head
    stages: int = 1  # of them, the tiles that are in memory at a time
    registers: int | None = None  # of a thread, at most; None leaves it to the compiler


FORWARD = Tiling(queries=64, warps=4)
BACKWARD = Tiling(queries=LONGEST, warps=8, lasting=1, stages=2)
_MEMORY = 64  # the widest head of which two tiles of everything fit into a multiprocessor


@triton.jit  # type: ignore[untyped-decorator]
def _read(start, place, stride, limit, width: tl.constexpr, full: tl.constexpr):  # type: ignore[no-untyped-def]
    at = start + place[:, None] * stride + tl.arange(0, width)[None, :]
    return tl.load(at) if full else tl.load(at, mask=(place < limit)[:, None], other=0.0)


@triton.jit  # type: ignore[untyped-decorator]
def _write(values, start, place, stride, limit, width: tl.constexpr, full: tl.constexpr):  # type: ignore[no-untyped-def]
    at = start + place[:, None] * stride + tl.arange(0, width)[None, :]
    if full:
        tl.store(at, values.to(start.dtype.element_ty))
    else:
        tl.store(at, values.to(start.dtype.element_ty), mask=(place < limit)[:, None])


@triton.jit  # type: ignore[untyped-decorator]
def _may_look(spans, ask, tell, queries, full: tl.constexpr):  # type: ignore[no-untyped-def]
    span = tl.load(spans + ask) if full else tl.load(spans + ask, mask=ask < queries, other=0)
    first, beyond = span & 0xFFFF, span >> 16
    return (tell[None, :] >= first[:, None]) & (tell[None, :] < beyond[:, None])


@triton.jit  # type: ignore[untyped-decorator]
def _attend(  # type: ignore[no-untyped-def]
    query, key, value, spans, out, normalisers, scale, heads, queries, keys,
    query_0, query_1, query_2, key_0, key_1, key_2, value_0, value_1, value_2,
    out_0, out_1, out_2,
    tile: tl.constexpr, blocks: tl.constexpr, span: tl.constexpr, width: tl.constexpr, full: tl.constexpr,
):  # fmt: skip
    program = tl.program_id(0)
    both = program // blocks
    head, row = (both % heads).to(tl.int64), (both // heads).to(tl.int64)
    ask, tell = program % blocks * tile + tl.arange(0, tile), tl.arange(0, span)
    asked = _read(query + row * query_0 + head * query_1, ask, query_2, queries, width, full)
    known = _read(key + row * key_0 + head * key_1, tell, key_2, keys, width, full)
    told = _read(value + row * value_0 + head * value_1, tell, value_2, keys, width, full)
    may = _may_look(spans + row * queries, ask, tell, queries, full)
    scores = tl.dot(asked, tl.trans(known), input_precision="ieee") * scale
    scores = tl.where(may, scores, float("-inf"))
    highest = tl.max(scores, 1)
    highest = tl.where(highest == float("-inf"), 0.0, highest)
    weights = tl.exp2(scores - highest[:, None])
    total = tl.sum(weights, 1)
    total = tl.where(total == 0.0, 1.0, total)
    answer = tl.dot(weights.to(told.dtype), told, input_precision="ieee") / total[:, None]
    _write(answer, out + row * out_0 + head * out_1, ask, out_2, queries, width, full)
    tl.store(normalisers + both.to(tl.int64) * queries + ask, highest + tl.log2(total), mask=ask < queries)


@triton.jit  # type: ignore[untyped-decorator]
def _attend_backward(  # type: ignore[no-untyped-def]
    query, key, value, spans, gradient, normalisers, query_gradient, key_gradient, value_gradient,
    scale, base_2_scale, turns, total, heads, queries, keys,
    query_0, query_1, query_2, key_0, key_1, key_2, value_0, value_1, value_2,
    gradient_0, gradient_1, gradient_2, asking_0, asking_1, asking_2, telling_0, telling_1, telling_2,
    tile: tl.constexpr, span: tl.constexpr, width: tl.constexpr, full: tl.constexpr, stages: tl.constexpr,
):  # fmt: skip
    ask, tell = tl.arange(0, tile), tl.arange(0, span)
    for turn in tl.range(0, turns, num_stages=stages):
        both = tl.minimum(tl.program_id(0) + turn * tl.num_programs(0), total - 1)  # the last may be done twice
        head, row = (both % heads).to(tl.int64), (both // heads).to(tl.int64)
        asked = _read(query + row * query_0 + head * query_1, ask, query_2, queries, width, full)
        known = _read(key + row * key_0 + head * key_1, tell, key_2, keys, width, full)
        wanted = _read(gradient + row * gradient_0 + head * gradient_1, ask, gradient_2, queries, width, full)
        told = _read(value + row * value_0 + head * value_1, tell, value_2, keys, width, full)
        may = _may_look(spans + row * queries, ask, tell, queries, full)
        by_query = normalisers + both.to(tl.int64) * queries + ask
        normaliser = tl.load(by_query) if full else tl.load(by_query, mask=ask < queries, other=0.0)
        scores = tl.dot(asked, tl.trans(known), input_precision="ieee") * base_2_scale - normaliser[:, None]
        weights = tl.exp2(tl.where(may, scores, float("-inf"))).to(told.dtype)
        for_values = tl.dot(tl.trans(weights), wanted, input_precision="ieee")
        told_at = row * telling_0 + head * telling_1
        _write(for_values, value_gradient + told_at, tell, telling_2, keys, width, full)
        pushed = tl.dot(wanted, tl.trans(told), input_precision="ieee")
        mean = tl.sum(weights.to(tl.float32) * pushed, 1)
        changes = (weights.to(tl.float32) * (pushed - mean[:, None])).to(told.dtype)
        for_keys = tl.dot(tl.trans(changes), asked, input_precision="ieee") * scale
        _write(for_keys, key_gradient + told_at, tell, telling_2, keys, width, full)
        for_queries = tl.dot(changes, known, input_precision="ieee") * scale
        _write(for_queries, query_gradient + row * asking_0 + head * asking_1, ask, asking_2, queries, width, full)


class Projections(NamedTuple):
    """Queries, keys and values, or the gradients of them, as views of what lies side by side."""

    query: Tensor  # [B, H, T, K]
    key: Tensor  # [B, H, S, K]
    value: Tensor  # [B, H, S, K]

    @classmethod
    def of(cls, asking: Tensor, telling: Tensor | None, heads: int) -> Projections:
        """[B, T, 3 * W], or [B, T, W] and [B, S, 2 * W]; their last dimensions are dense."""
        if telling is None:
            return cls(*by_head(asking, 3, heads))
        return cls(*by_head(asking, 1, heads), *by_head(telling, 2, heads))


@torch.library.custom_op(
    "regard::row_attention",
    mutates_args=(),
    schema="(Tensor asking, Tensor? telling, Tensor spans, int heads) -> (Tensor, Tensor)",
)
def _row_attention(asking: Tensor, telling: Tensor | None, spans: Tensor, heads: int) -> tuple[Tensor, Tensor]:
    """Queries, keys and values [B, T, 3 * W], or queries [B, T, W] and keys and values [B, S, 2 * W]; and the spans
    [B, T] -> the answers [B, T, W], and [B, H, T], for the gradient: the logarithm to the base of 2 of each query's sum
    of exponentials.
    """
    answers, normalisers = empty(asking, telling, heads)
    query, key, value = Projections.of(asking.contiguous(), None if telling is None else telling.contiguous(), heads)
    (out,) = by_head(answers, 1, heads)
    rows, _, queries, width = query.shape
    tile = _power_of_2(min(queries, FORWARD.queries))
    blocks = triton.cdiv(queries, tile)
    kernel: Any = _attend
    kernel[(rows * heads * blocks,)](
        query, key, value, spans.contiguous(), out, normalisers, math.log2(math.e) / math.sqrt(width),
        heads, queries, key.size(2),
        *query.stride()[:3], *key.stride()[:3], *value.stride()[:3], *out.stride()[:3],
        blocks=blocks, **_sizes(query, key, tile), **_options(FORWARD),
    )  # fmt: skip
    return answers, normalisers


@_row_attention.register_fake
def _(asking: Tensor, telling: Tensor | None, _spans: Tensor, heads: int) -> tuple[Tensor, Tensor]:
    return empty(asking, telling, heads)


@torch.library.custom_op(
    "regard::row_attention_backward",
    mutates_args=(),
    schema="(Tensor gradient, Tensor asking, Tensor? telling, Tensor spans, Tensor normalisers, int heads)"
    " -> (Tensor, Tensor)",
)
def _row_attention_backward(
    gradient: Tensor, asking: Tensor, telling: Tensor | None, spans: Tensor, normalisers: Tensor, heads: int
) -> tuple[Tensor, Tensor]:
    """The gradients of what asked and of what told, as they came; [0] where all came as one."""
    for_asking, for_telling = empty_gradients(asking, telling)
    query, key, value = Projections.of(asking.contiguous(), None if telling is None else telling.contiguous(), heads)
    for_query, for_key, for_value = Projections.of(for_asking, None if telling is None else for_telling, heads)
    (wanted,) = by_head(gradient.contiguous(), 1, heads)
    rows, _, queries, width = query.shape
    scale, total, tile = 1 / math.sqrt(width), rows * heads, _power_of_2(queries)
    fits = BACKWARD.lasting > 0 and width <= _MEMORY and query.element_size() == 2
    room = BACKWARD.lasting * (LONGEST // max(tile, _power_of_2(key.size(2))))
    programs = min(total, multiprocessors(query.device) * room) if fits else total
    kernel: Any = _attend_backward
    kernel[(programs,)](
        query, key, value, spans.contiguous(), wanted, normalisers, for_query, for_key, for_value,
        scale, scale * math.log2(math.e), triton.cdiv(total, programs), total, heads, queries, key.size(2),
        *query.stride()[:3], *key.stride()[:3], *value.stride()[:3],
        *wanted.stride()[:3], *for_query.stride()[:3], *for_key.stride()[:3],
        stages=BACKWARD.stages if fits else 1, **_sizes(query, key, tile), **_options(BACKWARD),
    )  # fmt: skip
    return for_asking, for_telling


@_row_attention_backward.register_fake
def _(
    _gradient: Tensor, asking: Tensor, telling: Tensor | None, _spans: Tensor, _normalisers: Tensor, _heads: int
) -> tuple[Tensor, Tensor]:
    return empty_gradients(asking, telling)


def _keep(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
    asking, telling, spans, ctx.heads = inputs
    ctx.mark_non_differentiable(output[1])
    ctx.set_materialize_grads(False)  # else what has no gradient would get zeros
    ctx.save_for_backward(asking, telling, spans, output[1])


def _differentiate(ctx: Any, gradient: Tensor, _none: None) -> tuple[Tensor, Tensor | None, None, None]:
    for_asking, for_telling = torch.ops.regard.row_attention_backward(gradient, *ctx.saved_tensors, ctx.heads)
    return for_asking, None if ctx.saved_tensors[1] is None else for_telling, None, None


_row_attention.register_autograd(_differentiate, setup_context=_keep)


def by_head(joined: Tensor, parts: int, heads: int) -> tuple[Tensor, ...]:
    """[B, T, parts * W] -> [B, H, T, K] as often as there are parts."""
    rows, length, width = joined.shape
    split = joined.view(rows, length, parts, heads, width // (parts * heads))
    return split.permute(2, 0, 3, 1, 4).unbind()


def empty(asking: Tensor, telling: Tensor | None, heads: int) -> tuple[Tensor, Tensor]:
    """Memory for answers and normalisers."""
    rows, length, width = asking.shape
    answers = asking.new_empty(rows, length, width // 3 if telling is None else width)
    return answers, asking.new_empty(rows, heads, length, dtype=torch.float32)


def empty_gradients(asking: Tensor, telling: Tensor | None) -> tuple[Tensor, Tensor]:
    """Memory for the gradients of what asked and of what told."""
    return asking.new_empty(asking.shape), asking.new_empty((0,) if telling is None else telling.shape)


def _sizes(query: Tensor, key: Tensor, tile: int) -> dict[str, Any]:
    """The shapes of a program's tiles, and whether they are full."""
    keys, span = key.size(2), _power_of_2(key.size(2))
    return {"tile": tile, "span": span, "width": query.size(3), "full": query.size(2) % tile == 0 and keys == span}


def _options(tiling: Tiling) -> dict[str, int]:
    return {"num_warps": tiling.warps} | ({} if tiling.registers is None else {"maxnreg": tiling.registers})


def _power_of_2(length: int) -> int:
    """The next one, and at least the 16 that a product needs."""
    return max(16, int(triton.next_power_of_2(length)))


def agrees() -> bool:
    """Whether answers and gradients are those of PyTorch in float32, as nearly as half of it can tell."""
    return agrees_by(lambda *given: torch.ops.regard.row_attention(*given)[0], length=LONGEST, sentence=28)


def agrees_by(attend: Callable[..., Tensor], *, length: int, sentence: int) -> bool:
    """The same for a way to attend over rows of this length, with sentences in which one looks backwards."""
    from torch.nn import functional as F

    device, half = tried_on()
    draw = torch.Generator().manual_seed(0)
    place = torch.arange(length, device=device, dtype=torch.int32)
    first = place // sentence * sentence
    spans = (first + (place + 1 << 16)).expand(2, -1)
    allowed = (place >= first[:, None]) & (place <= place[:, None])
    pairs: list[tuple[Tensor, Tensor]] = []
    with torch.enable_grad(), torch.autocast(device.type, enabled=False):
        for parts in ((3,), (1, 2)):
            drawn = (torch.randn(2, length, 128 * part, generator=draw).to(device, half) for part in (*parts, 1))
            *inputs, gradient = (tensor.requires_grad_() for tensor in drawn)
            precise = [tensor.detach().float().requires_grad_() for tensor in inputs]
            telling = None if len(parts) == 1 else inputs[1]
            found = attend(inputs[0], telling, spans, 2)
            views = Projections.of(precise[0], None if telling is None else precise[1], 2)
            expected = F.scaled_dot_product_attention(*views, attn_mask=allowed).transpose(1, 2).flatten(2)
            ours = torch.autograd.grad(found, inputs, gradient)
            theirs = torch.autograd.grad(expected, precise, gradient.float())
            pairs += zip((found, *ours), (expected, *theirs), strict=True)
    return all(torch.allclose(ours.float(), theirs, rtol=2e-2, atol=2e-2) for ours, theirs in pairs)
