"""Attention, activation and the residual connection, each in one kernel: PyTorch's, or what is faster.

For the few queries of a decoder's step attention is a kernel of our own on a GPU, and on a processor two small
products: PyTorch's kernels work on larger tiles. For training with rows of up to 128 tokens it is another kernel of our
own, and so are dropout, sum and normalisation after a sub-layer. There, one matrix product gives queries, keys and
values side by side, and their gradients come back as they are: a product is the faster the larger it is. And what
comes after a product is done before it writes: bias and ReLU.

Shapes: B sentences, H heads, T queries, S keys, K width of a key and of a value, D = d_model.
"""

from __future__ import annotations

import math
from collections.abc import MutableMapping, Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.weak import WeakTensorKeyDictionary

from regard.kernels import trusted, works
from regard.models.positions import Turn, Turns

if TYPE_CHECKING:
    from regard.models.transformer import MultiHeadAttention

_MOST_QUERIES = 16
_LONGEST_ROW = 128
_WIDTHS = (16, 32, 64, 128)
_NARROWEST, _WIDEST = 128, 1024  # of the sums that our kernel normalises
_HALVES = (torch.bfloat16, torch.float16)
_SPANS: MutableMapping[Tensor, Tensor] = WeakTensorKeyDictionary()  # of masks, as long as they live


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


def joint_attention(
    attention: MultiHeadAttention, x: Tensor, memory: Tensor, allowed: Tensor, turns: Turns = (None, None)
) -> Tensor | None:
    """[B, T, D], [B, S, D] and [B, 1, T or 1, S] -> [B, T, H * K] what all heads found, before W^O.

    The keys that a query may look at must be neighbours, as those of its sentence in a row are. None says that this is
    not for it: nobody learns, or somebody looks, or it is not on a GPU in half precision, or the rows are long.
    """
    if attention.observer is not None or not _learns_on_a_gpu(x) or not _is_short(attention, x, memory, allowed):
        return None
    if not ((x.dtype in _HALVES or torch.is_autocast_enabled(x.device.type)) and works("row_attention")):
        return None
    of_x, of_memory = turns
    if of_x is not None and not works("turning"):
        return None
    telling = None
    if x is memory:
        asking = _turned(_side_by_side(x, (attention.query, attention.key, attention.value)), of_x, 2 * attention.heads)
    else:
        asking = _turned(attention.query(x), of_x, attention.heads)
        telling = _turned(_side_by_side(memory, (attention.key, attention.value)), of_memory, attention.heads)
    spans = _known_spans(allowed, x.size(1))
    answers: Tensor = torch.ops.regard.row_attention(asking, telling, spans, attention.heads)[0]
    return answers


def spans_of(allowed: Tensor, queries: int) -> Tensor:
    """[B, 1, T or 1, S] -> [B, T]: the first key that a query may look at, and 2^16 times the one after the last.

    A query that may look at nothing has a span that ends before it begins.
    """
    place = torch.arange(allowed.size(3), device=allowed.device, dtype=torch.int32)
    first = torch.where(allowed, place, allowed.size(3)).amin(3)
    beyond = torch.where(allowed, place + 1, 0).amax(3)
    return (first + (beyond << 16)).squeeze(1).expand(-1, queries)


def _known_spans(allowed: Tensor, queries: int) -> Tensor:
    """The same, computed once for all layers that have this mask; compiled code sees for itself that it is the same."""
    if torch.compiler.is_compiling():
        return spans_of(allowed, queries)
    if allowed not in _SPANS:
        _SPANS[allowed] = spans_of(allowed, queries)
    return _SPANS[allowed]


def fused_activation(x: Tensor, linear: nn.Linear, activation: nn.Module) -> Tensor:
    """[..., inputs] -> [..., outputs]: the activation of the linear map. A ReLU goes with the product."""
    cuts = isinstance(activation, nn.ReLU) and linear.bias is not None
    if cuts and _learns_on_a_gpu(x) and x.dtype in _HALVES and x.dtype == linear.weight.dtype and works("relu"):
        result: Tensor = torch.ops.regard.relu_product(x.flatten(0, -2), linear.weight, linear.bias)
        return result.view(*x.shape[:-1], -1)
    activated: Tensor = activation(linear(x))
    return activated


def fused_residual(x: Tensor, y: Tensor, norm: nn.LayerNorm, dropout: nn.Dropout) -> Tensor:
    """[..., D] twice -> [..., D]: LayerNorm(x + dropout(y))."""
    if _learns_on_a_gpu(x) and _carries(x, y) and works("residual"):
        drops = dropout.training and dropout.p > 0
        seed = torch.randint(2**62, (1,), device=x.device) if drops else None
        normalised: Tensor
        normalised, *_ = torch.ops.regard.residual_norm(x, y, norm.weight, norm.bias, seed, dropout.p, norm.eps)
    else:
        normalised = norm(x + dropout(y))
    return normalised


def _turned(joined: Tensor, turn: Turn | None, heads: int) -> Tensor:
    """[..., M * K] -> the same, the first heads turned by rotary positions, if there are any."""
    if turn is None:
        return joined
    turned: Tensor = torch.ops.regard.turned(joined, turn.cosines, turn.sines, heads, False)
    return turned


def _learns_on_a_gpu(x: Tensor) -> bool:
    return torch.is_grad_enabled() and x.is_cuda


def _carries(x: Tensor, y: Tensor) -> bool:
    """Whether our kernel can add them."""
    return x.dtype in _HALVES and x.dtype == y.dtype and x.shape == y.shape and _NARROWEST <= x.size(-1) <= _WIDEST


def _is_short(attention: MultiHeadAttention, x: Tensor, memory: Tensor, allowed: Tensor) -> bool:
    """Whether our kernel for training can hold it."""
    width = attention.query.weight.size(0)
    return (
        width == attention.value.weight.size(0)
        and width // attention.heads in _WIDTHS
        and max(x.size(1), memory.size(1)) <= _LONGEST_ROW
        and allowed.size(1) == 1
    )


def _side_by_side(x: Tensor, maps: Sequence[nn.Linear]) -> Tensor:
    """[..., D] -> [..., the sum of all widths]: what the maps give, by one product."""
    weight = torch.cat([each.weight for each in maps])
    bias = None if maps[0].bias is None else torch.cat([each.bias for each in maps])
    return F.linear(x, weight, bias)


def _fits(query: Tensor, key: Tensor, value: Tensor, allowed: Tensor) -> bool:
    """Whether our kernel can hold it."""
    return (
        query.dtype in (torch.float32, *_HALVES)
        and query.dtype == key.dtype == value.dtype
        and query.size(3) == value.size(3) in _WIDTHS
        and allowed.size(1) == 1
        and all(tensor.stride(3) == 1 for tensor in (query, key, value, allowed))
    )
