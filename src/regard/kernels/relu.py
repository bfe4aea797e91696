"""max(0, xW + b) of a feed-forward network: forward within the matrix product, backward in one kernel around it.

Forward, cuBLAS adds the bias and cuts below zero before it writes. Nothing else is kept for the gradient: the result
itself says where it was cut. Backward, a kernel reads the gradient and the result once, and writes the gradient of what
went into the cut; on the way it adds up the gradient of the bias. Its programs last: each has some columns, and every
so many rows of them, and what all of them have is summed at the end, always in the same order.

Shapes: N rows, D inputs, F outputs; P programs that share a column.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

from regard.kernels.multiprocessors import multiprocessors, tried_on


class Tiling(NamedTuple):
    """How the kernel is cut up."""

    rows: int  # that are read at a time
    lanes: int  # columns of a program
    warps: int
    lasting: int  # programs on each multiprocessor: as many as have room at once


BACKWARD = Tiling(rows=16, lanes=256, warps=4, lasting=5)


@triton.jit  # type: ignore[untyped-decorator]
def _cut(  # type: ignore[no-untyped-def]
    gradient, result, changes, sums, rows, blocks,
    width: tl.constexpr, tile: tl.constexpr, lanes: tl.constexpr, full: tl.constexpr,
):  # fmt: skip
    column = tl.program_id(0) * lanes + tl.arange(0, lanes)[None, :]
    within = tl.arange(0, tile)[:, None]
    there = column < width
    total = tl.zeros((tile, lanes), tl.float32)
    for turn in tl.range(0, tl.cdiv(blocks - tl.program_id(1), tl.num_programs(1))):
        block = tl.program_id(1) + turn * tl.num_programs(1)
        at = block.to(tl.int64) * (tile * width) + (within * width + column)
        valid = there & (block * tile + within < rows)
        wanted = (tl.load(gradient + at) if full else tl.load(gradient + at, mask=valid, other=0.0)).to(tl.float32)
        given = (tl.load(result + at) if full else tl.load(result + at, mask=valid, other=0.0)).to(tl.float32)
        wanted = tl.where(given <= 0.0, 0.0, wanted)
        total += wanted
        change = wanted.to(changes.dtype.element_ty)
        tl.store(changes + at, change) if full else tl.store(changes + at, change, mask=valid)
    tl.store(sums + tl.program_id(1) * width + column, tl.sum(total, 0, keep_dims=True), mask=there)


@torch.library.custom_op(
    "regard::relu_product", mutates_args=(), schema="(Tensor x, Tensor weight, Tensor bias) -> Tensor"
)
def _relu_product(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """[N, D], [F, D] and [F] -> [N, F]."""
    result: Tensor = torch._addmm_activation(bias.contiguous(), x, weight.t(), use_gelu=False)  # noqa: SLF001
    return result.contiguous()


@_relu_product.register_fake
def _(x: Tensor, weight: Tensor, _bias: Tensor) -> Tensor:
    return x.new_empty(x.size(0), weight.size(0))


@torch.library.custom_op(
    "regard::relu_product_backward", mutates_args=(), schema="(Tensor gradient, Tensor result) -> (Tensor, Tensor)"
)
def _relu_product_backward(gradient: Tensor, result: Tensor) -> tuple[Tensor, Tensor]:
    """[N, F] the gradient of xW + b; and [P, F] in float32, of which the sum over all programs is that of the bias."""
    changes, sums = _empty_gradients(result)
    sizes = _sizes(result)
    kernel: Any = _cut
    kernel[(triton.cdiv(result.size(1), sizes["lanes"]), sums.size(0))](
        gradient.contiguous(), result.contiguous(), changes, sums,
        result.size(0), triton.cdiv(result.size(0), sizes["tile"]), num_warps=BACKWARD.warps, **sizes,
    )  # fmt: skip
    return changes, sums


@_relu_product_backward.register_fake
def _(_gradient: Tensor, result: Tensor) -> tuple[Tensor, Tensor]:
    return _empty_gradients(result)


def _keep(ctx: Any, inputs: tuple[Tensor, Tensor, Tensor], output: Tensor) -> None:
    x, weight, bias = inputs
    ctx.of_bias = bias.dtype
    ctx.save_for_backward(x, weight, output)


def _differentiate(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    x, weight, result = ctx.saved_tensors
    changes, sums = torch.ops.regard.relu_product_backward(gradient, result)
    return changes @ weight, changes.t() @ x, sums.sum(0).to(ctx.of_bias)


_relu_product.register_autograd(_differentiate, setup_context=_keep)


def _empty_gradients(result: Tensor) -> tuple[Tensor, Tensor]:
    sizes, (rows, width) = _sizes(result), result.shape
    programs = multiprocessors(result.device) * BACKWARD.lasting // triton.cdiv(width, sizes["lanes"])
    sums = result.new_empty(max(1, min(programs, triton.cdiv(rows, sizes["tile"]))), width, dtype=torch.float32)
    return result.new_empty(result.shape), sums


def _sizes(result: Tensor) -> dict[str, Any]:
    """The shape of a program's tile, and whether all tiles are full."""
    rows, width = result.shape
    lanes = min(BACKWARD.lanes, max(16, int(triton.next_power_of_2(width))))
    full = width % lanes == 0 and rows % BACKWARD.rows == 0
    return {"width": width, "tile": BACKWARD.rows, "lanes": lanes, "full": full}


def agrees() -> bool:
    """Whether result and gradients are those of PyTorch in float32, as nearly as half of it can tell."""
    from torch.nn import functional as F

    device, half = tried_on()
    draw = torch.Generator().manual_seed(0)
    pairs: list[tuple[Tensor, Tensor]] = []
    with torch.enable_grad(), torch.autocast(device.type, enabled=False):
        for rows, width in ((160, 512), (37, 328)):
            shapes = (rows, 64), (width, 64), (width,), (rows, width)
            drawn = (torch.randn(shape, generator=draw).to(device, half) for shape in shapes)
            *inputs, gradient = (tensor.requires_grad_() for tensor in drawn)
            x, weight, bias = precise = [tensor.detach().float().requires_grad_() for tensor in inputs]
            found = torch.ops.regard.relu_product(*inputs)
            expected = F.linear(x, weight, bias).relu()
            wanted = gradient.float() * (found > 0)  # about zero, float32 may cut elsewhere
            ours = torch.autograd.grad(found, inputs, gradient)
            theirs = torch.autograd.grad(F.linear(x, weight, bias), precise, wanted)
            pairs += zip((found, *ours), (expected, *theirs), strict=True)
    return all(
        torch.allclose(our.float(), their, rtol=2e-2, atol=2e-2 * float(their.detach().abs().max()))
        for our, their in pairs
    )
