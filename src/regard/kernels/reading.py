"""What a search reads from logits on a GPU, in one pass, beside the plain way of `search/probabilities.py`.

The plain way reads and writes the logits several times, which takes longer there than the model's own step. Here a
program of the GPU reads one row: it sums exponentials, notes the highest logit of each block of words, finds the K
blocks with the highest ones, and in these the K highest words. The order is the same as there: of equals, the lowest.

Shapes: R rows, V vocabulary, K words.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

_BLOCK = 64
_TILE = 2048  # words that are read at a time


@triton.jit  # type: ignore[untyped-decorator]
def _read_rows(  # type: ignore[no-untyped-def]
    logits, maxima, normalisers, values, words, vocabulary, stride,
    blocks_2: tl.constexpr, count: tl.constexpr, count_2: tl.constexpr,
    tile_size: tl.constexpr, block_size: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    logits += row * stride
    maxima += row * blocks_2
    within = tl.arange(0, tile_size)
    highest = tl.full((tile_size,), float("-inf"), tl.float32)  # each lane sums by itself, all together at the end
    totals = tl.zeros((tile_size,), tl.float32)
    for first in range(0, vocabulary, tile_size):
        word = first + within
        tile = tl.load(logits + word, mask=word < vocabulary, other=float("-inf")).to(tl.float32)
        above = tl.maximum(highest, tile)
        base = tl.where(above == float("-inf"), 0.0, above)
        totals = totals * tl.exp(highest - base) + tl.exp(tile - base)
        highest = above
        blocks = tl.max(tl.reshape(tile, (tile_size // block_size, block_size)), 1)
        place = first // block_size + tl.arange(0, tile_size // block_size)
        tl.store(maxima + place, blocks, mask=place < blocks_2)
    top = tl.max(highest, 0)
    base = tl.where(top == float("-inf"), 0.0, top)
    total = tl.sum(totals * tl.exp(highest - base), 0)
    tl.store(normalisers + row, base + tl.log(total))
    tl.debug_barrier()

    block = tl.arange(0, blocks_2)
    real = block * block_size < vocabulary
    waiting = tl.where(real, tl.load(maxima + block, mask=real, other=float("-inf")), float("-inf"))
    free = real
    slot = tl.arange(0, count_2 * block_size)
    candidates = tl.full((count_2 * block_size,), 0, tl.int32)
    for n in tl.static_range(count):
        best = tl.max(tl.where(free, waiting, float("-inf")), 0)
        chosen = tl.min(tl.where(free & (waiting == best), block, blocks_2), 0)
        free = free & (block != chosen)
        candidates = tl.where(slot // block_size == n, chosen * block_size + slot % block_size, candidates)
    inside = (candidates < vocabulary) & (slot < count * block_size)
    value = tl.load(logits + candidates, mask=inside, other=float("-inf")).to(tl.float32)
    free = inside
    for n in tl.static_range(count):
        best = tl.max(tl.where(free, value, float("-inf")), 0)
        chosen = tl.min(tl.where(free & (value == best), candidates, vocabulary), 0)
        free = free & (candidates != chosen)
        tl.store(values + row * count + n, best)
        tl.store(words + row * count + n, tl.minimum(chosen, vocabulary - 1).to(tl.int64))


def read_rows(logits: Tensor, count: int) -> tuple[Tensor, Tensor, Tensor]:
    """[R, V] -> [R] log sum exp, [R, K] the K highest logits, highest first, and [R, K] their words."""
    rows, vocabulary = logits.shape
    assert logits.stride(1) == 1
    blocks = triton.next_power_of_2(triton.cdiv(vocabulary, _BLOCK))
    maxima = torch.empty(rows, blocks, dtype=torch.float32, device=logits.device)
    normalisers = torch.empty(rows, dtype=torch.float32, device=logits.device)
    values = torch.empty(rows, count, dtype=torch.float32, device=logits.device)
    words = torch.empty(rows, count, dtype=torch.int64, device=logits.device)
    kernel: Any = _read_rows
    kernel[(rows,)](
        logits, maxima, normalisers, values, words, vocabulary, logits.stride(0),
        blocks_2=blocks, count=count, count_2=triton.next_power_of_2(count), tile_size=_TILE, block_size=_BLOCK,
        num_warps=4,
    )  # fmt: skip
    return normalisers, values, words


def agrees() -> bool:
    """Whether it gives what PyTorch gives, where no two logits are equal."""
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    logits = torch.randn(3, 5000, generator=torch.Generator().manual_seed(0)).to(device)
    normalisers, values, words = read_rows(logits, 4)
    expected = logits.topk(4)
    return (
        torch.allclose(normalisers, logits.logsumexp(-1), rtol=0, atol=1e-4)
        and torch.equal(values, expected.values)
        and torch.equal(words, expected.indices)
    )
