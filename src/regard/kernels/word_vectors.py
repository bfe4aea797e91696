"""What a decoder's step reads: the embedding of the token generated last, and the sinusoid of its position.

PyTorch needs a dozen kernels for it, half of them in float64, since sinusoids are exact for large positions, too. Here
a program of the GPU computes the sinusoid of a sentence's position once, and adds it to the embeddings of all of its
hypotheses.

Shapes: N sentences, W hypotheses of each, V vocabulary, D width.
"""

from __future__ import annotations

import math
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from regard.kernels.multiprocessors import tried_on


@triton.jit  # type: ignore[untyped-decorator]
def _add(  # type: ignore[no-untyped-def]
    tokens, positions, weight, divisors, out, scale,
    hypotheses: tl.constexpr, width: tl.constexpr, size: tl.constexpr, interleaved: tl.constexpr, zero: tl.constexpr,
):  # fmt: skip
    sentence = tl.program_id(0).to(tl.int64)
    position = tl.load(positions + sentence)
    pair = tl.arange(0, size)
    there = pair < width // 2
    angle = position.to(tl.float64) / tl.load(divisors + pair, mask=there, other=1.0)
    sine = tl.sin(angle).to(out.dtype.element_ty).to(tl.float32)
    cosine = tl.cos(angle).to(out.dtype.element_ty).to(tl.float32)
    one = pair * 2 if interleaved else pair
    other = one + (1 if interleaved else width // 2)
    begins = (position == 0) if zero else False
    for hypothesis in tl.static_range(hypotheses):
        row = sentence * hypotheses + hypothesis
        words = weight + tl.load(tokens + row) * width
        ours = tl.load(words + one, mask=there & (begins == 0), other=0.0).to(tl.float32) * scale
        theirs = tl.load(words + other, mask=there & (begins == 0), other=0.0).to(tl.float32) * scale
        ours = ours.to(out.dtype.element_ty).to(tl.float32) + sine  # rounded where PyTorch rounds
        theirs = theirs.to(out.dtype.element_ty).to(tl.float32) + cosine
        tl.store(out + row * width + one, ours.to(out.dtype.element_ty), mask=there)
        tl.store(out + row * width + other, theirs.to(out.dtype.element_ty), mask=there)


def embed(
    tokens: Tensor, positions: Tensor, weight: Tensor, divisors: Tensor, *, interleaved: bool, zero: bool
) -> Tensor:
    """[N, W] ids, [N, 1] positions, [V, D] and [D / 2] in float64 -> [N, W, D].

    With `zero`, what stands at the first position is no embedding but zero.
    """
    (sentences, hypotheses), width = tokens.shape, weight.size(1)
    out = torch.empty(sentences, hypotheses, width, dtype=weight.dtype, device=weight.device)
    size = max(16, triton.next_power_of_2(width // 2))
    kernel: Any = _add
    kernel[(sentences,)](
        tokens.contiguous(), positions.contiguous(), weight.contiguous(), divisors, out, math.sqrt(width),
        hypotheses=hypotheses, width=width, size=size, interleaved=interleaved, zero=zero,
        num_warps=min(4, max(1, size // 64)),
    )  # fmt: skip
    return out


def agrees() -> bool:
    """Whether it gives what PyTorch gives, in both orders and types, at small and large positions."""
    device, half = tried_on()
    draw = torch.Generator().manual_seed(0)
    tokens = torch.randint(7, (5, 3), generator=draw).to(device)
    positions = torch.tensor([0, 1, 31, 1000, 123_456], device=device)[:, None]
    divisors = 10000 ** (torch.arange(0, 48, 2, dtype=torch.float64, device=device) / 48)
    angles = positions[..., None] / divisors
    for dtype in (torch.float32, half):
        weight = torch.randn(7, 48, generator=draw).to(device, dtype)
        for interleaved in (True, False):
            parts = [angles.sin(), angles.cos()]
            sinusoids = torch.stack(parts, -1).flatten(-2) if interleaved else torch.cat(parts, -1)
            words = (weight[tokens] * math.sqrt(48)).masked_fill((positions == 0)[..., None], 0.0)
            expected = words + sinusoids.to(dtype)
            found = embed(tokens, positions, weight, divisors, interleaved=interleaved, zero=True)
            error = 1e-6 if dtype == torch.float32 else 1e-2
            if not torch.allclose(found.float(), expected.float(), rtol=error, atol=error):
                return False
    return True
