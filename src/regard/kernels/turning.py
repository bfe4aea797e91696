"""Rotary positions: the first heads of each token are turned by the angles of its place, in one kernel.

Queries, keys and values come side by side from one matrix product, and go on side by side: what is not to be turned is
copied on the way. Backward, gradients are turned by the same angles the other way round.

Shapes: N tokens, M heads of K numbers each, side by side, of which the first are turned: number i with number i + K/2.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

from regard.kernels.multiprocessors import tried_on


class Tiling(NamedTuple):
    """How the kernel is cut up: a program has some tokens of one head."""

    numbers: int  # that it reads at a time, of each half of a head
    warps: int


TILING = Tiling(numbers=1024, warps=4)


@triton.jit  # type: ignore[untyped-decorator]
def _turn(  # type: ignore[no-untyped-def]
    x, cosines, sines, out, sign, tokens, heads, turned, tile: tl.constexpr, half: tl.constexpr,
):  # fmt: skip
    token = tl.program_id(0) * tile + tl.arange(0, tile)[:, None]
    place = tl.arange(0, half)[None, :]
    there = token < tokens
    at = (token.to(tl.int64) * heads + tl.program_id(1)) * (2 * half) + place
    one = tl.load(x + at, mask=there, other=0.0)
    other = tl.load(x + at + half, mask=there, other=0.0)
    if tl.program_id(1) < turned:
        cosine = tl.load(cosines + token * half + place, mask=there, other=0.0)
        sine = tl.load(sines + token * half + place, mask=there, other=0.0) * sign
        first, second = one.to(tl.float32), other.to(tl.float32)
        one = (first * cosine - second * sine).to(out.dtype.element_ty)
        other = (first * sine + second * cosine).to(out.dtype.element_ty)
    tl.store(out + at, one, mask=there)
    tl.store(out + at + half, other, mask=there)


@torch.library.custom_op(
    "regard::turned",
    mutates_args=(),
    schema="(Tensor x, Tensor cosines, Tensor sines, int heads, bool back) -> Tensor",
)
def _turned(x: Tensor, cosines: Tensor, sines: Tensor, heads: int, back: bool) -> Tensor:
    """[..., M * K] and [..., K / 2] twice, in float32 -> [..., M * K]: so many heads turned, or turned back."""
    x, half = x.contiguous(), cosines.size(-1)
    out = torch.empty_like(x)
    tokens, tile = cosines.numel() // half, max(1, TILING.numbers // half)
    kernel: Any = _turn
    kernel[(triton.cdiv(tokens, tile), x.size(-1) // (2 * half))](
        x, cosines.contiguous(), sines.contiguous(), out, -1.0 if back else 1.0, tokens, x.size(-1) // (2 * half),
        heads, tile=tile, half=half, num_warps=TILING.warps,
    )  # fmt: skip
    return out


@_turned.register_fake
def _(x: Tensor, _cosines: Tensor, _sines: Tensor, _heads: int, _back: bool) -> Tensor:
    return x.new_empty(x.shape)


def _keep(ctx: Any, inputs: tuple[Tensor, Tensor, Tensor, int, bool], output: Tensor) -> None:  # noqa: ARG001
    _x, cosines, sines, ctx.heads, ctx.back = inputs
    ctx.save_for_backward(cosines, sines)


def _differentiate(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None, None, None]:
    cosines, sines = ctx.saved_tensors
    return torch.ops.regard.turned(gradient, cosines, sines, ctx.heads, not ctx.back), None, None, None, None


_turned.register_autograd(_differentiate, setup_context=_keep)


def agrees() -> bool:
    """Whether what is turned, and its gradient, are those of PyTorch in float32, as nearly as half of it can tell."""
    device, half = tried_on()
    draw = torch.Generator().manual_seed(0)
    with torch.enable_grad(), torch.autocast(device.type, enabled=False):
        x, gradient = (torch.randn(37, 3 * 2 * 32, generator=draw).to(device, half) for _ in range(2))
        angles = torch.rand(37, 16, generator=draw).to(device) * 6
        found = torch.ops.regard.turned(x.requires_grad_(), angles.cos(), angles.sin(), 4, False)
        precise = x.detach().float().requires_grad_()
        by_head = precise.view(37, 6, 2, 16)
        pairs = (
            torch.complex(by_head[:, :4, 0], by_head[:, :4, 1]) * torch.polar(torch.ones_like(angles), angles)[:, None]
        )
        expected = torch.cat([torch.stack([pairs.real, pairs.imag], 2), by_head[:, 4:]], 1).flatten(1)
        ours = (found, *torch.autograd.grad(found, x, gradient))
        theirs = (expected, *torch.autograd.grad(expected, precise, gradient.float()))
    return all(
        torch.allclose(our.float(), their, rtol=2e-2, atol=2e-2) for our, their in zip(ours, theirs, strict=True)
    )
