"""What a search reads from logits on a GPU, in one pass, beside the plain way of `search/probabilities.py`.

The plain way reads and writes the logits several times, which takes longer there than the model's own step. Here a
program of the GPU reads one row: `scan` sums exponentials and notes the highest logit of each block of words; `pick`
finds the blocks with the highest ones, and in these the K highest words. Between the two, some words of a row may have
been forbidden: then a block's note may be too high, and as many more blocks are looked at.
The order is the same as in the plain way: of equals, the lowest.

Shapes: R rows, V vocabulary, B blocks, K words.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

from regard.kernels.multiprocessors import tried_on

BLOCK = 64
LOG2_E = tl.constexpr(math.log2(math.e))


class Tiling(NamedTuple):
    """How many blocks are read at a time, by how many warps, and how many times as many are on their way."""

    blocks: int
    warps: int
    stages: int


TILING = Tiling(blocks=32, warps=4, stages=3)


@triton.jit
def _added(values, highest, totals):  # type: ignore[no-untyped-def]
    """Logits of some blocks -> their highest, the highest so far, and the sums of exponentials below these."""
    top = tl.max(values, 1)
    above = tl.maximum(highest, top)
    base = tl.where(above == float("-inf"), 0.0, above) * LOG2_E
    rest = tl.exp2(highest * LOG2_E - base)
    return top, above, totals * rest[:, None] + tl.exp2(values * LOG2_E - base[:, None])


@triton.jit  # type: ignore[untyped-decorator]
def _scan(  # type: ignore[no-untyped-def]
    logits, maxima, normalisers, vocabulary, stride, blocks, whole,
    aligned: tl.constexpr, tile: tl.constexpr, size: tl.constexpr, stages: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    offset = row * stride
    if aligned:  # so that eight words are read at once
        offset = tl.multiple_of(offset, 8)
    logits += offset
    maxima += row * blocks
    block = tl.arange(0, tile)
    word = block[:, None] * size + tl.arange(0, size)[None, :]
    highest = tl.full((tile,), float("-inf"), tl.float32)
    totals = tl.zeros((tile, size), tl.float32)
    for first in tl.range(0, whole, tile, num_stages=stages):
        values = tl.load(logits + first * size + word).to(tl.float32)
        top, highest, totals = _added(values, highest, totals)
        tl.store(maxima + first + block, top.to(maxima.dtype.element_ty))
    if whole < blocks:
        within = whole * size + word < vocabulary
        values = tl.load(logits + whole * size + word, mask=within, other=float("-inf")).to(tl.float32)
        top, highest, totals = _added(values, highest, totals)
        tl.store(maxima + whole + block, top.to(maxima.dtype.element_ty), mask=whole + block < blocks)
    best = tl.max(highest, 0)
    base = tl.where(best == float("-inf"), 0.0, best)
    total = tl.sum(tl.sum(totals, 1) * tl.exp2((highest - base) * LOG2_E), 0)
    tl.store(normalisers + row, base + tl.log(total))


@triton.jit  # type: ignore[untyped-decorator]
def _pick(  # type: ignore[no-untyped-def]
    logits, maxima, values, words, vocabulary, stride, blocks,
    blocks_2: tl.constexpr, looked_at: tl.constexpr, looked_at_2: tl.constexpr, count: tl.constexpr, size: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    logits += row * stride
    block = tl.arange(0, blocks_2)
    free = block < blocks
    waiting = tl.load(maxima + row * blocks + block, mask=free, other=float("-inf")).to(tl.float32)
    slot = tl.arange(0, looked_at_2 * size)
    candidates = tl.full((looked_at_2 * size,), 0, tl.int32)
    for n in tl.static_range(looked_at):
        best = tl.max(tl.where(free, waiting, float("-inf")), 0)
        chosen = tl.min(tl.where(free & (waiting == best), block, blocks_2), 0)
        free = free & (block != chosen)
        candidates = tl.where(slot // size == n, chosen * size + slot % size, candidates)
    inside = (candidates < vocabulary) & (slot < looked_at * size)
    value = tl.load(logits + candidates, mask=inside, other=float("-inf")).to(tl.float32)
    free = inside
    for n in tl.static_range(count):
        best = tl.max(tl.where(free, value, float("-inf")), 0)
        chosen = tl.min(tl.where(free & (value == best), candidates, vocabulary), 0)
        free = free & (candidates != chosen)
        tl.store(values + row * count + n, best)
        tl.store(words + row * count + n, tl.minimum(chosen, vocabulary - 1).to(tl.int64))


def scan(logits: Tensor, *, tiling: Tiling = TILING) -> tuple[Tensor, Tensor]:
    """[R, V] -> [R] log sum exp, and [R, B] the highest logit of each block."""
    rows, vocabulary = logits.shape
    assert logits.stride(1) == 1
    blocks = triton.cdiv(vocabulary, BLOCK)
    maxima = torch.empty(rows, blocks, dtype=logits.dtype, device=logits.device)
    normalisers = torch.empty(rows, dtype=torch.float32, device=logits.device)
    kernel: Any = _scan
    kernel[(rows,)](
        logits, maxima, normalisers, vocabulary, logits.stride(0), blocks,
        vocabulary // (BLOCK * tiling.blocks) * tiling.blocks, aligned=logits.stride(0) % 8 == 0,
        tile=tiling.blocks, size=BLOCK, stages=tiling.stages, num_warps=tiling.warps,
    )  # fmt: skip
    return normalisers, maxima


def pick(logits: Tensor, maxima: Tensor, count: int, *, forbidden: int = 0) -> tuple[Tensor, Tensor]:
    """[R, V] and [R, B] -> [R, K] the K highest logits, highest first, and [R, K] their words.

    Since `scan` read them, at most so many words of each row may have become -inf.
    """
    rows, vocabulary = logits.shape
    blocks = maxima.size(1)
    looked_at = min(blocks, count + forbidden)
    values = torch.empty(rows, count, dtype=torch.float32, device=logits.device)
    words = torch.empty(rows, count, dtype=torch.int64, device=logits.device)
    kernel: Any = _pick
    kernel[(rows,)](
        logits, maxima, values, words, vocabulary, logits.stride(0), blocks,
        blocks_2=triton.next_power_of_2(blocks), looked_at=looked_at, looked_at_2=triton.next_power_of_2(looked_at),
        count=count, size=BLOCK, num_warps=4,
    )  # fmt: skip
    return values, words


def agrees() -> bool:
    """Whether it gives what PyTorch gives, where no two logits are equal."""
    device, _ = tried_on()
    logits = torch.randn(3, 5000, generator=torch.Generator().manual_seed(0)).to(device)
    normalisers, maxima = scan(logits)
    first = torch.allclose(normalisers, logits.logsumexp(-1), rtol=0, atol=1e-4)
    logits.scatter_(1, logits.topk(2).indices, -torch.inf)
    values, words = pick(logits, maxima, 4, forbidden=2)
    expected = logits.topk(4)
    return first and torch.equal(values, expected.values) and torch.equal(words, expected.indices)
