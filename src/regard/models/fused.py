"""Attention in one kernel: PyTorch's; for the few queries of a decoder's step, what is faster there.

That is a kernel of our own on a GPU, and on a processor two small products: PyTorch's kernels work on larger tiles.

Shapes: B sentences, H heads, T queries, S keys, K width of a key and of a value.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional as F

from regard.kernels import trusted

_MOST_QUERIES = 16
_WIDTHS = (16, 32, 64, 128)


def fused_attention(query: Tensor, key: Tensor, value: Tensor, allowed: Tensor | None) -> Tensor:
    """[B, H, T, K], [B, H, S, K] twice and [B, 1, T or 1, S] -> [B, H, T, K]."""
    if allowed is not None and query.size(2) <= _MOST_QUERIES and not torch.is_grad_enabled():
        if query.device.type == "cpu":
            scores = (query / math.sqrt(query.size(3))) @ key.transpose(2, 3)
            return scores.masked_fill_(~allowed, -math.inf).softmax(-1) @ value
        if query.is_cuda and _fits(query, key, value, allowed) and (kernel := trusted("attention")):
            attended: Tensor = kernel.attend(query, key, value, allowed)
            return attended
    return F.scaled_dot_product_attention(query, key, value, attn_mask=allowed)


def _fits(query: Tensor, key: Tensor, value: Tensor, allowed: Tensor) -> bool:
    """Whether our kernel can hold it."""
    return (
        query.dtype in (torch.float32, torch.bfloat16, torch.float16)
        and query.size(3) == value.size(3) in _WIDTHS
        and allowed.size(1) == 1
        and all(tensor.stride(3) == 1 for tensor in (query, key, value, allowed))
    )
