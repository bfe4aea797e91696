"""The output projection and its smoothed cross-entropy as one operation: no logits are kept for their gradient.

A program of the GPU reads a row of logits to know their normaliser, and then reads it again, backwards, and writes the
gradient in its place. So there is one array of that size, and none once the operation is done; it takes as long as the
two kernels of loss.py. That happens forward, before anybody asks for a gradient: what is asked for the
sum of all losses is one number, so the gradients of states and weight are made at once, and multiplied by it later.

Programs last, few on each multiprocessor, so that the rows that are being read twice have room in its cache.

Shapes: P positions, D width, V vocabulary.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

from regard.kernels.loss import LOG2_E, read_row
from regard.kernels.multiprocessors import multiprocessors, tried_on


class Tiling(NamedTuple):
    """How the kernel is cut up. A thread has eight neighbours, `deep` times."""

    deep: int
    warps: int
    lasting: int  # programs on each multiprocessor, each with a row

    @property
    def lanes(self) -> int:
        """As many logits as the threads hold at a time."""
        return self.warps * 32 * 8


TILING = Tiling(deep=4, warps=8, lasting=3)


@triton.jit  # type: ignore[untyped-decorator]
def _lose_and_differ(  # type: ignore[no-untyped-def]
    logits, labels, real, smoothed, likelihoods, epsilon, rows,
    vocabulary: tl.constexpr, lanes: tl.constexpr, deep: tl.constexpr,
):  # fmt: skip
    tile: tl.constexpr = lanes * deep
    last: tl.constexpr = (vocabulary - 1) // tile * tile
    within = tl.arange(0, tile)
    for turn in tl.range(0, tl.cdiv(rows - tl.program_id(0), tl.num_programs(0))):
        row = tl.program_id(0).to(tl.int64) + turn * tl.num_programs(0)
        here = logits + row * vocabulary
        if tl.load(real + row) != 0:
            label = tl.load(labels + row).to(tl.int32)
            said = tl.load(here + label).to(tl.float32)
            normaliser, total = read_row(here, vocabulary, lanes, deep)
            likelihood = normaliser / LOG2_E - said
            tl.store(likelihoods + row, likelihood)
            tl.store(smoothed + row, likelihood + epsilon * (said - total / vocabulary))
            tl.debug_barrier()  # all threads have read all that they need, and may overwrite it
            for back in range(0, vocabulary, tile):  # what was read last is the nearest
                word = last - back + within
                there = word < vocabulary
                logit = tl.load(here + word, mask=there, other=float("-inf")).to(tl.float32)
                wanted = tl.where(word == label, 1.0 - epsilon, 0.0) + epsilon / vocabulary
                change = tl.exp2(logit * LOG2_E - normaliser) - wanted
                tl.store(here + word, change.to(logits.dtype.element_ty), mask=there)
        else:
            tl.store(likelihoods + row, 0.0)
            tl.store(smoothed + row, 0.0)
            for first in range(0, vocabulary, tile):
                nothing = tl.zeros((tile,), logits.dtype.element_ty)
                tl.store(here + first + within, nothing, mask=first + within < vocabulary)


@torch.library.custom_op(
    "regard::projected_cross_entropy",
    mutates_args=(),
    schema="(Tensor states, Tensor weight, Tensor labels, Tensor real, float epsilon)"
    " -> (Tensor, Tensor, Tensor, Tensor)",
)
def _projected(
    states: Tensor, weight: Tensor, labels: Tensor, real: Tensor, epsilon: float
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """[P, D], [V, D], [P] and [P] -> the sums, in float32, of the smoothed cross-entropy and of the plain one, over all
    that is real; and the gradients of the first by states and weight. Only the first itself has a gradient.
    """
    logits = states @ weight.t()
    smoothed, likelihoods = (logits.new_empty(logits.size(0), dtype=torch.float32) for _ in range(2))
    kernel: Any = _lose_and_differ
    kernel[(max(1, min(logits.size(0), _programs(logits.device))),)](
        logits, labels.contiguous(), real.contiguous().view(torch.uint8), smoothed, likelihoods,
        epsilon, logits.size(0), vocabulary=logits.size(1),
        lanes=TILING.lanes, deep=TILING.deep, num_warps=TILING.warps,
    )  # fmt: skip
    changes = logits  # which the kernel has overwritten
    return smoothed.sum(), likelihoods.sum(), changes @ weight, changes.t() @ states


@_projected.register_fake
def _(
    states: Tensor, weight: Tensor, _labels: Tensor, _real: Tensor, _epsilon: float
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    smoothed, likelihood = (states.new_empty((), dtype=torch.float32) for _ in range(2))
    return smoothed, likelihood, states.new_empty(states.shape), weight.new_empty(weight.shape)


def _keep(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor, Tensor, Tensor]) -> None:
    del inputs
    ctx.mark_non_differentiable(*output[1:])
    ctx.set_materialize_grads(False)  # else those that have no gradient would get zeros
    ctx.save_for_backward(*output[2:])


def _differentiate(ctx: Any, incoming: Tensor, *_none: None) -> tuple[Tensor | None, ...]:
    for_states, for_weight = ((part.float() * incoming).to(part.dtype) for part in ctx.saved_tensors)
    return for_states, for_weight, None, None, None


_projected.register_autograd(_differentiate, setup_context=_keep)


def _programs(device: torch.device) -> int:
    return multiprocessors(device) * TILING.lasting


def agrees() -> bool:
    """Whether losses and gradients are those of PyTorch in float32, as nearly as half of it can tell."""
    from torch.nn import functional as F

    device, half = tried_on()
    draw = torch.Generator().manual_seed(0)
    with torch.enable_grad(), torch.autocast(device.type, enabled=False):
        count = 2 * _programs(device) + 5  # so that each has several rows
        drawn = torch.randn(count, 64, generator=draw), torch.randn(10_000, 64, generator=draw) / 8
        inputs = [tensor.to(device, half).requires_grad_() for tensor in drawn]
        states, weight = precise = [tensor.detach().float().requires_grad_() for tensor in inputs]
        labels = torch.randint(10_000, (count,), generator=draw).to(device)
        real = torch.arange(count, device=device) % 7 != 2
        smoothed, likelihood, *_ = torch.ops.regard.projected_cross_entropy(*inputs, labels, real, 0.1)
        logits = F.linear(states, weight)
        expected = (F.cross_entropy(logits, labels, reduction="none", label_smoothing=0.1) * real).sum()
        plain = (F.cross_entropy(logits, labels, reduction="none") * real).sum()
        ours = torch.autograd.grad(3 * smoothed, inputs)
        theirs = torch.autograd.grad(3 * expected, precise)
    pairs = ((smoothed, expected, 1e-3), (likelihood, plain, 1e-3), *zip(ours, theirs, (2e-2, 2e-2), strict=True))
    return all(
        torch.allclose(our.float(), their, rtol=error, atol=error * float(their.detach().abs().max()))
        for our, their, error in pairs
    )
