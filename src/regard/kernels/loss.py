"""The smoothed cross-entropy of `training/loss.py` on a GPU: logits are read once forward, and once backward.

A program of the GPU has one row. Forward it adds up exponentials and logits, each of its lanes by itself and all
together at the end; backward it writes the gradient beside what it reads. Rows of padding are not read at all.

The vocabulary's size is compiled in: a size that is a multiple of eight is then read in the widest pieces.

Shapes: P positions, V vocabulary.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

from regard.kernels.multiprocessors import tried_on


class Tiling(NamedTuple):
    """How many logits are read at a time, and by how many warps: a thread has eight neighbours, `deep` times."""

    deep: int
    warps: int

    @property
    def lanes(self) -> int:
        """As many as the threads hold at a time."""
        return self.warps * 32 * 8


FORWARD = Tiling(deep=8, warps=4)
BACKWARD = Tiling(deep=8, warps=4)
LOG2_E = tl.constexpr(math.log2(math.e))


@triton.jit  # type: ignore[untyped-decorator]
def read_row(logits, vocabulary: tl.constexpr, lanes: tl.constexpr, deep: tl.constexpr):  # type: ignore[no-untyped-def]
    """[V] -> the logarithm, to the base of 2, of the sum of exponentials; and the sum of the logits."""
    place = tl.arange(0, deep)[:, None] * lanes + tl.arange(0, lanes)[None, :]
    highest = tl.full((lanes,), float("-inf"), tl.float32)
    totals = tl.zeros((lanes,), tl.float32)
    sums = tl.zeros((lanes,), tl.float32)
    for first in range(0, vocabulary, deep * lanes):
        there = first + place < vocabulary
        tile = tl.load(logits + first + place, mask=there, other=float("-inf")).to(tl.float32)
        sums += tl.sum(tl.where(there, tile, 0.0), 0)
        tile *= LOG2_E
        above = tl.maximum(highest, tl.max(tile, 0))
        base = tl.where(above == float("-inf"), 0.0, above)
        totals = totals * tl.exp2(highest - base) + tl.sum(tl.exp2(tile - base[None, :]), 0)
        highest = above
    top = tl.max(highest, 0)
    total = tl.sum(totals * tl.exp2(highest - top), 0)
    return top + tl.log2(total), tl.sum(sums, 0)


@triton.jit  # type: ignore[untyped-decorator]
def _lose(  # type: ignore[no-untyped-def]
    logits, labels, real, smoothed, likelihoods, normalisers, epsilon,
    stride: tl.constexpr, vocabulary: tl.constexpr, lanes: tl.constexpr, deep: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    if tl.load(real + row) != 0:
        logits += row * stride
        said = tl.load(logits + tl.load(labels + row)).to(tl.float32)
        normaliser, total = read_row(logits, vocabulary, lanes, deep)
        normaliser /= LOG2_E
        likelihood = normaliser - said
        tl.store(normalisers + row, normaliser)
        tl.store(likelihoods + row, likelihood)
        tl.store(smoothed + row, likelihood + epsilon * (said - total / vocabulary))
    else:
        tl.store(normalisers + row, 0.0)
        tl.store(likelihoods + row, 0.0)
        tl.store(smoothed + row, 0.0)


@triton.jit  # type: ignore[untyped-decorator]
def _differ(  # type: ignore[no-untyped-def]
    logits, labels, real, normalisers, incoming, gradient, epsilon, incoming_0,
    stride: tl.constexpr, vocabulary: tl.constexpr, tile: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    gradient += row * vocabulary
    within = tl.arange(0, tile)
    if tl.load(real + row) != 0:
        logits += row * stride
        label = tl.load(labels + row).to(tl.int32)
        normaliser = tl.load(normalisers + row) * LOG2_E
        scale = tl.load(incoming + row * incoming_0)
        for first in range(0, vocabulary, tile):
            word = first + within
            there = word < vocabulary
            logit = tl.load(logits + word, mask=there, other=float("-inf")).to(tl.float32)
            wanted = tl.where(word == label, 1.0 - epsilon, 0.0) + epsilon / vocabulary
            change = (tl.exp2(logit * LOG2_E - normaliser) - wanted) * scale
            tl.store(gradient + word, change.to(gradient.dtype.element_ty), mask=there)
    else:
        nothing = tl.zeros((tile,), gradient.dtype.element_ty)
        for first in range(0, vocabulary, tile):
            tl.store(gradient + first + within, nothing, mask=first + within < vocabulary)


@torch.library.custom_op(
    "regard::smoothed_cross_entropy",
    mutates_args=(),
    schema="(Tensor logits, Tensor labels, Tensor real, float epsilon) -> (Tensor, Tensor, Tensor)",
)
def _cross_entropy(logits: Tensor, labels: Tensor, real: Tensor, epsilon: float) -> tuple[Tensor, Tensor, Tensor]:
    """[P, V], [P] and [P] -> the smoothed cross-entropy and the plain one, which has no gradient, [P] each in float32,
    0 where not real; and [P], for the gradient, the logarithms of the sums of exponentials.
    """
    smoothed, likelihoods, normalisers = _empty(logits)
    kernel: Any = _lose
    kernel[(logits.size(0),)](
        _rows(logits), labels.contiguous(), real.contiguous().view(torch.uint8), smoothed, likelihoods, normalisers,
        epsilon, stride=_rows(logits).stride(0), vocabulary=logits.size(1),
        lanes=FORWARD.lanes, deep=FORWARD.deep, num_warps=FORWARD.warps,
    )  # fmt: skip
    return smoothed, likelihoods, normalisers


@_cross_entropy.register_fake
def _(logits: Tensor, _labels: Tensor, _real: Tensor, _epsilon: float) -> tuple[Tensor, Tensor, Tensor]:
    return _empty(logits)


@torch.library.custom_op(
    "regard::smoothed_cross_entropy_backward",
    mutates_args=(),
    schema="(Tensor incoming, Tensor logits, Tensor labels, Tensor real, Tensor normalisers, float epsilon) -> Tensor",
)
def _cross_entropy_backward(
    incoming: Tensor, logits: Tensor, labels: Tensor, real: Tensor, normalisers: Tensor, epsilon: float
) -> Tensor:
    """[P, V] the gradient of the logits: probabilities minus smoothed labels."""
    gradient = logits.new_empty(logits.shape)
    kernel: Any = _differ
    kernel[(logits.size(0),)](
        _rows(logits), labels.contiguous(), real.contiguous().view(torch.uint8), normalisers, incoming, gradient,
        epsilon, incoming.stride(0), stride=_rows(logits).stride(0), vocabulary=logits.size(1),
        tile=BACKWARD.lanes * BACKWARD.deep, num_warps=BACKWARD.warps,
    )  # fmt: skip
    return gradient


@_cross_entropy_backward.register_fake
def _(
    _incoming: Tensor, logits: Tensor, _labels: Tensor, _real: Tensor, _normalisers: Tensor, _epsilon: float
) -> Tensor:
    return logits.new_empty(logits.shape)


def _keep(ctx: Any, inputs: tuple[Tensor, Tensor, Tensor, float], output: tuple[Tensor, Tensor, Tensor]) -> None:
    *tensors, ctx.epsilon = inputs
    ctx.save_for_backward(*tensors, output[2])


def _differentiate(ctx: Any, incoming: Tensor, *_others: Tensor) -> tuple[Tensor, None, None, None]:
    gradient = torch.ops.regard.smoothed_cross_entropy_backward(incoming, *ctx.saved_tensors, ctx.epsilon)
    return gradient, None, None, None


_cross_entropy.register_autograd(_differentiate, setup_context=_keep)


def _empty(logits: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    smoothed, likelihoods, normalisers = (logits.new_empty(logits.size(0), dtype=torch.float32) for _ in range(3))
    return smoothed, likelihoods, normalisers


def _rows(logits: Tensor) -> Tensor:
    return logits if logits.stride(1) == 1 else logits.contiguous()


def agrees() -> bool:
    """Whether losses and gradients are those of PyTorch in float32, as nearly as half of it can tell."""
    from torch.nn import functional as F

    device, half = tried_on()
    draw = torch.Generator().manual_seed(0)
    with torch.enable_grad(), torch.autocast(device.type, enabled=False):
        logits = (3 * torch.randn(5, 5000, generator=draw)).to(device, half).requires_grad_()
        precise = logits.detach().float().requires_grad_()
        labels = torch.randint(5000, (5,), generator=draw).to(device)
        real = torch.tensor([True, True, False, True, True], device=device)
        smoothed, likelihoods, _ = torch.ops.regard.smoothed_cross_entropy(logits, labels, real, 0.1)
        expected = F.cross_entropy(precise, labels, reduction="none", label_smoothing=0.1) * real
        plain = F.cross_entropy(precise, labels, reduction="none") * real
        (gradient,) = torch.autograd.grad(smoothed.sum(), logits)
        (wanted,) = torch.autograd.grad(expected.sum(), precise)
    return (
        torch.allclose(smoothed, expected, rtol=0, atol=1e-3)
        and torch.allclose(likelihoods, plain, rtol=0, atol=1e-3)
        and torch.allclose(gradient.float(), wanted, rtol=1e-2, atol=1e-5)
    )
