"""LayerNorm(x + dropout(y)) of a residual connection, forward and backward, one kernel each: all is read once.

A program is one warp and has whole rows: their sums need no other warp and no waiting. What dropout keeps is not
stored but drawn again backward: one draw of Philox, numbered by row and place, decides about eight neighbours, 16 bits
each. So a share of 0.1 is 6554 of 65536, as on a CPU. Backward, programs last: each adds up what its rows say about
weight and bias, and what all of them have is summed at the end, always in the same order.

What leaves a residual connection enters the next sub-layer and goes past it, so its gradient has two parts. Compiled
code leaves it to this kernel to add them (compiling.py).

Shapes: N rows, D width, of which a lane has eight neighbours, `deep` times; P programs.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

from regard.kernels.multiprocessors import multiprocessors, tried_on


class Tiling(NamedTuple):
    """How a kernel is cut up. Programs that last take one block of rows after the other, and may read ahead."""

    rows: int  # that are read at a time; a multiple of the warps
    warps: int
    lasting: int = 0  # programs on each multiprocessor, of rows of up to 512; 0 starts one for every block
    stages: int = 1  # of them, the blocks that are in memory at a time


FORWARD = Tiling(rows=2, warps=1, lasting=16)
BACKWARD = Tiling(rows=1, warps=1, lasting=16, stages=2)
_LEVELS = 1 << 16
_ROUNDS = tl.constexpr(7)  # of Philox: the fewest that pass all tests of randomness (Salmon et al., 2011)


@triton.jit  # type: ignore[untyped-decorator]
def _kept(seed, row, dropped, tile: tl.constexpr, deep: tl.constexpr, lanes: tl.constexpr):  # type: ignore[no-untyped-def]
    eighths: tl.constexpr = lanes // 8
    place = tl.arange(0, deep)[None, :, None] * eighths + tl.arange(0, eighths)[None, None, :]
    place += tl.zeros((tile, deep, eighths), tl.int32)
    first, second, third, fourth = tl.philox(seed, place, row, 0, 0, _ROUNDS)
    words = tl.join(tl.join(first, second), tl.join(third, fourth))
    return tl.reshape(tl.join(words & 0xFFFF, words >> 16), (tile, deep, lanes)) >= dropped


@triton.jit
def _sum(values):  # type: ignore[no-untyped-def]
    return tl.sum(tl.sum(values, 1, keep_dims=True), 2, keep_dims=True)


@triton.jit  # type: ignore[untyped-decorator]
def _normalise(  # type: ignore[no-untyped-def]
    x, y, weight, bias, seed, out, added, statistics, dropped, scale, epsilon, rows, blocks,
    width: tl.constexpr, tile: tl.constexpr, deep: tl.constexpr, lanes: tl.constexpr, full: tl.constexpr,
    drops: tl.constexpr, stages: tl.constexpr, keeps: tl.constexpr,
):  # fmt: skip
    column = tl.arange(0, deep)[None, :, None] * lanes + tl.arange(0, lanes)[None, None, :]
    within = tl.arange(0, tile)[:, None, None]
    there = column < width
    strength = tl.load(weight + column) if full else tl.load(weight + column, mask=there, other=0.0)
    shift = tl.load(bias + column) if full else tl.load(bias + column, mask=there, other=0.0)
    number = tl.load(seed) if drops else 0
    for turn in tl.range(0, tl.cdiv(blocks - tl.program_id(0), tl.num_programs(0)), num_stages=stages):
        block = tl.program_id(0) + turn * tl.num_programs(0)
        at = block.to(tl.int64) * (tile * width) + (within * width + column)
        row = block * tile + within
        valid = there & (row < rows)
        old = (tl.load(x + at) if full else tl.load(x + at, mask=valid, other=0.0)).to(tl.float32)
        new = (tl.load(y + at) if full else tl.load(y + at, mask=valid, other=0.0)).to(tl.float32)
        if drops:
            new = tl.where(_kept(number, row, dropped, tile, deep, lanes), new * scale, 0.0)
        total = (old + new).to(out.dtype.element_ty)
        if keeps:
            tl.store(added + at, total) if full else tl.store(added + at, total, mask=valid)
        total = total.to(tl.float32)
        mean = _sum(total) / width
        total -= mean
        total = total if full else tl.where(there, total, 0.0)
        inverse = tl.rsqrt(_sum(total * total) / width + epsilon)
        normal = (total * inverse * strength.to(tl.float32) + shift.to(tl.float32)).to(out.dtype.element_ty)
        tl.store(out + at, normal) if full else tl.store(out + at, normal, mask=valid)
        if keeps:
            tl.store(statistics + row, mean, mask=row < rows)
            tl.store(statistics + rows + row, inverse, mask=row < rows)


@triton.jit  # type: ignore[untyped-decorator]
def _normalise_backward(  # type: ignore[no-untyped-def]
    gradient, more, added, statistics, weight, seed, for_x, for_y, sums, dropped, scale, rows, blocks,
    width: tl.constexpr, tile: tl.constexpr, deep: tl.constexpr, lanes: tl.constexpr, full: tl.constexpr,
    drops: tl.constexpr, two: tl.constexpr, stages: tl.constexpr,
):  # fmt: skip
    column = tl.arange(0, deep)[None, :, None] * lanes + tl.arange(0, lanes)[None, None, :]
    within = tl.arange(0, tile)[:, None, None]
    there = column < width
    strength = tl.load(weight + column) if full else tl.load(weight + column, mask=there, other=0.0)
    number = tl.load(seed) if drops else 0
    for_weight = tl.zeros((tile, deep, lanes), tl.float32)
    for_bias = tl.zeros((tile, deep, lanes), tl.float32)
    for turn in tl.range(0, tl.cdiv(blocks - tl.program_id(0), tl.num_programs(0)), num_stages=stages):
        block = tl.program_id(0) + turn * tl.num_programs(0)
        at = block.to(tl.int64) * (tile * width) + (within * width + column)
        row = block * tile + within
        valid = there & (row < rows)
        wanted = (tl.load(gradient + at) if full else tl.load(gradient + at, mask=valid, other=0.0)).to(tl.float32)
        if two:
            wanted += (tl.load(more + at) if full else tl.load(more + at, mask=valid, other=0.0)).to(tl.float32)
        normal = (tl.load(added + at) if full else tl.load(added + at, mask=valid, other=0.0)).to(tl.float32)
        mean = tl.load(statistics + row, mask=row < rows, other=0.0)
        inverse = tl.load(statistics + rows + row, mask=row < rows, other=0.0)
        normal = (normal - mean) * inverse
        for_weight += wanted * normal
        for_bias += wanted
        wanted *= strength.to(tl.float32)
        change = (wanted - _sum(wanted) / width - normal * (_sum(wanted * normal) / width)) * inverse
        given = change.to(for_x.dtype.element_ty)
        tl.store(for_x + at, given) if full else tl.store(for_x + at, given, mask=valid)
        if drops:
            change = tl.where(_kept(number, row, dropped, tile, deep, lanes), change * scale, 0.0)
            given = change.to(for_y.dtype.element_ty)
            tl.store(for_y + at, given) if full else tl.store(for_y + at, given, mask=valid)
    sums += tl.program_id(0) * (2 * width)
    tl.store(sums + column, tl.sum(for_weight, 0, keep_dims=True), mask=there)
    tl.store(sums + width + column, tl.sum(for_bias, 0, keep_dims=True), mask=there)


@torch.library.custom_op(
    "regard::residual_norm",
    mutates_args=(),
    schema="(Tensor x, Tensor y, Tensor weight, Tensor bias, Tensor? seed, float p, float epsilon)"
    " -> (Tensor, Tensor, Tensor)",
)
def _residual_norm(
    x: Tensor, y: Tensor, weight: Tensor, bias: Tensor, seed: Tensor | None, p: float, epsilon: float
) -> tuple[Tensor, Tensor, Tensor]:
    """[..., D] twice and [D] twice -> [..., D] normalised; and for the gradient: [..., D] what was normalised, and
    [2, N] its mean and the inverse of its deviation. The seed is one int64; without one, nothing is dropped.
    """
    x, y = x.contiguous(), y.contiguous()
    out, added, statistics = _empty(x)
    dropped = _dropped(seed, p)
    sizes = _sizes(x, FORWARD)
    blocks = triton.cdiv(statistics.size(1), sizes["tile"])
    kernel: Any = _normalise
    kernel[(_programs(x, FORWARD),)](
        x, y, weight.contiguous(), bias.contiguous(), seed, out, added, statistics,
        dropped, _LEVELS / (_LEVELS - dropped), epsilon, statistics.size(1), blocks,
        drops=dropped > 0, stages=FORWARD.stages, keeps=True, num_warps=FORWARD.warps, **sizes,
    )  # fmt: skip
    return out, added, statistics


@_residual_norm.register_fake
def _(
    x: Tensor, _y: Tensor, _weight: Tensor, _bias: Tensor, _seed: Tensor | None, _p: float, _epsilon: float
) -> tuple[Tensor, Tensor, Tensor]:
    return _empty(x)


@torch.library.custom_op(
    "regard::residual_norm_backward",
    mutates_args=(),
    schema="(Tensor gradient, Tensor? more, Tensor added, Tensor statistics, Tensor weight, Tensor? seed, float p)"
    " -> (Tensor, Tensor, Tensor)",
)
def _residual_norm_backward(
    gradient: Tensor,
    more: Tensor | None,
    added: Tensor,
    statistics: Tensor,
    weight: Tensor,
    seed: Tensor | None,
    p: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of x, and of y where it is another one, else [0]; and [P, 2, D], of which the sum over all programs
    is the gradient of weight and bias. The incoming gradient may come in two parts.
    """
    for_x, for_y, sums = _empty_gradients(added, seed, p)
    dropped = _dropped(seed, p)
    sizes = _sizes(added, BACKWARD)
    blocks = triton.cdiv(statistics.size(1), sizes["tile"])
    kernel: Any = _normalise_backward
    kernel[(sums.size(0),)](
        gradient.contiguous(), None if more is None else more.contiguous(), added, statistics, weight.contiguous(),
        seed, for_x, for_y, sums, dropped, _LEVELS / (_LEVELS - dropped), statistics.size(1), blocks,
        drops=dropped > 0, two=more is not None, stages=BACKWARD.stages, num_warps=BACKWARD.warps, **sizes,
    )  # fmt: skip
    return for_x, for_y, sums


@_residual_norm_backward.register_fake
def _(
    _gradient: Tensor,
    _more: Tensor | None,
    added: Tensor,
    _statistics: Tensor,
    _weight: Tensor,
    seed: Tensor | None,
    p: float,
) -> tuple[Tensor, Tensor, Tensor]:
    return _empty_gradients(added, seed, p)


def norm_of_sum(
    x: Tensor, y: Tensor, weight: Tensor, bias: Tensor, epsilon: float, *, tiling: Tiling = FORWARD
) -> Tensor:
    """[..., D] twice and [D] twice -> [..., D] normalised, without dropout and without a gradient."""
    x, y = x.contiguous(), y.contiguous()
    out, rows, sizes = torch.empty_like(x), x.numel() // x.size(-1), _sizes(x, tiling)
    kernel: Any = _normalise
    kernel[(_programs(x, tiling),)](
        x, y, weight, bias, None, out, None, None, 0, 1.0, epsilon, rows, triton.cdiv(rows, sizes["tile"]),
        drops=False, stages=tiling.stages, keeps=False, num_warps=tiling.warps, **sizes,
    )  # fmt: skip
    return out


def _keep(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor, Tensor]) -> None:
    _x, _y, weight, bias, seed, ctx.p, _epsilon = inputs
    ctx.of_bias = bias.dtype
    ctx.mark_non_differentiable(*output[1:])
    ctx.set_materialize_grads(False)  # else the two that have no gradient would get zeros
    ctx.save_for_backward(output[1], output[2], weight, seed)


def _differentiate(ctx: Any, gradient: Tensor, *_none: None) -> tuple[Tensor | None, ...]:
    added, statistics, weight, seed = ctx.saved_tensors
    for_x, for_y, sums = torch.ops.regard.residual_norm_backward(gradient, None, added, statistics, weight, seed, ctx.p)
    for_weight, for_bias = sums.sum(0).unbind()
    for_y = for_y if _dropped(seed, ctx.p) else for_x
    return for_x, for_y, for_weight.to(weight.dtype), for_bias.to(ctx.of_bias), None, None, None


_residual_norm.register_autograd(_differentiate, setup_context=_keep)


def _empty(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    statistics = x.new_empty(2, x.numel() // x.size(-1), dtype=torch.float32)
    return x.new_empty(x.shape), x.new_empty(x.shape), statistics


def _empty_gradients(added: Tensor, seed: Tensor | None, p: float) -> tuple[Tensor, Tensor, Tensor]:
    for_y = added.new_empty(added.shape if _dropped(seed, p) else (0,))
    sums = added.new_empty(_programs(added, BACKWARD), 2, added.size(-1), dtype=torch.float32)
    return added.new_empty(added.shape), for_y, sums


def _dropped(seed: Tensor | None, p: float) -> int:
    """Of 65536 levels, how many are dropped."""
    return 0 if seed is None else min(round(p * _LEVELS), _LEVELS - 1)


def _sizes(x: Tensor, tiling: Tiling) -> dict[str, Any]:
    """The shape of a program's tile, and whether all tiles are full. Narrow rows share a warp."""
    width, most = x.size(-1), 32 * 16 // x.element_size()
    span = max(16, int(triton.next_power_of_2(width)))
    lanes = min(span, most)
    tile = tiling.rows * (most // lanes)
    full = width == span and x.numel() // width % tile == 0
    return {"width": width, "deep": span // lanes, "tile": tile, "lanes": lanes, "full": full}


def _programs(x: Tensor, tiling: Tiling) -> int:
    """As many as there is work for, or as have room at once: wider rows take more registers."""
    blocks: int = triton.cdiv(x.numel() // x.size(-1), _sizes(x, tiling)["tile"])
    room = multiprocessors(x.device) * max(1, tiling.lasting * 512 // max(512, x.size(-1)))
    return max(1, min(blocks, room) if tiling.lasting else blocks)


def agrees() -> bool:
    """Whether results and gradients are those of PyTorch in float32, as nearly as half of it can tell, and whether
    backward the same is kept as forward.
    """
    from torch.nn import functional as F

    device, half = tried_on()
    draw = torch.Generator().manual_seed(0)
    with torch.enable_grad(), torch.autocast(device.type, enabled=False):
        *drawn, gradient = (torch.randn(12, 512, generator=draw).to(device, half) for _ in range(3))
        vectors = (torch.randn(512, generator=draw).to(device, half) for _ in range(2))
        inputs = [tensor.requires_grad_() for tensor in (*drawn, *vectors)]
        seed = torch.tensor([5], device=device)
        found = torch.ops.regard.residual_norm(*inputs, seed, 0.5, 1e-5)[0]
        ones, zeros = torch.ones_like(gradient), torch.zeros_like(gradient)
        kept = torch.ops.regard.residual_norm(zeros, ones, ones[0], zeros[0], seed, 0.5, 1e-5)[1] != 0
        precise = [tensor.detach().float().requires_grad_() for tensor in inputs]
        x, y, weight, bias = precise
        expected = F.layer_norm(x + y * kept * 2, (512,), weight, bias, 1e-5)
        ours = (found, *torch.autograd.grad(found, inputs, gradient))
        theirs = (expected, *torch.autograd.grad(expected, precise, gradient.float()))
        summed = [tensor.detach() for tensor in inputs]
        ours += (norm_of_sum(summed[0], summed[1], summed[2], summed[3], 1e-5),)
        theirs += (F.layer_norm(x + y, (512,), weight, bias, 1e-5),)
    pairs = zip(ours, theirs, strict=True)
    return 0.4 < float(kept.float().mean()) < 0.6 and all(
        torch.allclose(our.float(), their, rtol=2e-2, atol=3e-2) for our, their in pairs
    )
