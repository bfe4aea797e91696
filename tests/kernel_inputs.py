"""What kernels for training are tried with: where, and on which rows, masks, sums and products."""

import os
from importlib.util import find_spec

import pytest
import torch
from torch import Tensor

from regard.models.fast.gpu import spans_of
from small import sight

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
HALF = torch.bfloat16 if DEVICE == "cuda" else torch.float16  # the interpreter has no bf16
needs_triton = pytest.mark.skipif(
    find_spec("triton") is None, reason="Triton is not installed: it comes with PyTorch for GPUs"
)
needs_a_place = pytest.mark.skipif(
    DEVICE == "cpu" and not os.environ.get("TRITON_INTERPRET"), reason="no GPU, and TRITON_INTERPRET is not set"
)


def rows(queries: int, keys: int, width: int, dtype: torch.dtype, heads: int = 2) -> list[Tensor]:
    """Queries, keys and values side by side, keys and values apart where their number is another, and a gradient."""
    torch.manual_seed(0)
    sizes = [(queries, 3)] if queries == keys else [(queries, 1), (keys, 2)]
    shapes = [(2, length, parts * heads * width) for length, parts in (*sizes, (queries, 1))]
    return [torch.randn(shape, device=DEVICE).to(dtype).requires_grad_() for shape in shapes]


def attend(inputs: list[Tensor], allowed: Tensor, heads: int = 2, *, kernel: str = "row_attention") -> Tensor:
    spans = spans_of(allowed, inputs[0].size(1))
    operation = getattr(torch.ops.regard, {"long_rows": "long_row_attention"}.get(kernel, kernel))
    answers: Tensor = operation(inputs[0], *(inputs[1:] or [None]), spans, heads)[0]
    return answers


def segments(length: int) -> Tensor:
    """Sentences side by side, then padding in the second row."""
    numbers = torch.arange(length, device=DEVICE) // 17 + 1
    return torch.stack([numbers, numbers.masked_fill(numbers == numbers.max(), 0)])


def mask(kind: str, queries: int, keys: int) -> Tensor:
    if kind == "causal":
        return sight(segments(queries), segments(keys), backwards=True).allowed()
    if kind == "whole":  # one sentence a row, the last of them with padding
        one = torch.ones(2, queries, dtype=torch.long, device=DEVICE)
        one[1, -3:] = 0
        return sight(one, one, backwards=True).allowed()
    if kind == "keys":
        return (segments(keys) != 0)[:, None, None]
    allowed = sight(segments(queries), segments(keys)).allowed()
    if kind == "nothing":
        allowed[:, :, 3:9] = False
    return allowed


def residual(width: int, dtype: torch.dtype, count: int = 37) -> list[Tensor]:
    """What goes along and what is added, weight and bias, and a gradient of the result."""
    torch.manual_seed(0)
    shapes = (count, width), (count, width), (width,), (width,), (count, width)
    return [torch.randn(shape, device=DEVICE).to(dtype).requires_grad_() for shape in shapes]


def seeded(number: int) -> Tensor:
    return torch.tensor([number], device=DEVICE)


def relu(count: int, width: int, dtype: torch.dtype) -> list[Tensor]:
    """What goes into a product, weight and bias, and a gradient of the result."""
    torch.manual_seed(0)
    shapes = (count, 48), (width, 48), (width,), (count, width)
    return [torch.randn(shape, device=DEVICE).to(dtype).requires_grad_() for shape in shapes]
