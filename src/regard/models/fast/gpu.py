"""A model on a GPU: attention, activation and residual connection each in one kernel, PyTorch's or our own.

A decoder's step has few queries, for which PyTorch's kernels work on tiles that are too large: there, attention is a
kernel of our own, which also writes the newest keys and values where the decoder's state stays in place. For training
it is another one, for rows of up to 128 tokens or for longer ones, and so are dropout, sum and normalisation after a
sub-layer. There as in a step, one matrix product gives queries, keys and values side by side, and their gradients come
back as they are: larger products are faster. Bias and ReLU are applied before a product is written.

Every form checks the shapes and types that its kernel supports, and otherwise does what the plain module does, with
PyTorch's fused attention. An observed attention is the plain one.

Shapes: B sentences, H heads, T queries, S keys, K width of a key and of a value, D = d_model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard.kernels import trusted, works
from regard.models.fast.in_place import InPlaceState
from regard.models.fast.joining import Joined
from regard.models.fast.remembering import Remembered, RememberingRotation
from regard.models.parts.cache import DecoderState
from regard.models.parts.positions import NoRotation, Rotation
from regard.models.protocols import Sight
from regard.models.transformer import FeedForward, MultiHeadAttention, Residual, Sinusoids, Transformer

MOST_QUERIES = 16  # of a decoder's step
_SHORT_ROW, _LONGEST_ROW = 128, 1 << 14  # tokens; each kind has a kernel
_WIDTHS = (16, 32, 64, 128)
_NARROWEST, _WIDEST = 128, 1024  # of the sums that our kernel normalises
_HALVES = (torch.bfloat16, torch.float16)
_TABLE = 256  # positions whose encodings are kept


class GpuAttention(MultiHeadAttention):
    """Joint projections and our row kernels while training; our kernel for few queries, or PyTorch's, otherwise."""

    joined: Joined

    def prepare(self, device: torch.device) -> None:  # noqa: ARG002  any GPU
        """Joins weights at the first step."""
        self.joined = Joined()

    def forward(self, x: Tensor, memory: Tensor, sight: Sight) -> Tensor:
        """[B, T, D] queries over memory [B, S, D] -> [B, T, D]."""
        if not self._is_joint(x, memory):
            return super().forward(x, memory, sight)
        telling = None
        if x is memory:
            joined = _side_by_side(x, (self.query, self.key, self.value))
            asking = self._rotated(joined, sight.query_positions, 2 * self.heads)
        else:
            asking = self._rotated(self.query(x), sight.query_positions, self.heads)
            joined = _side_by_side(memory, (self.key, self.value))
            telling = self._rotated(joined, sight.key_positions, self.heads)
        spans = _SPANS.get(sight.allowed(), lambda allowed: spans_of(allowed, x.size(1)))
        short = _kernel_for(x, memory) == "row_attention"
        attend = torch.ops.regard.row_attention if short else torch.ops.regard.long_row_attention
        return self.output(attend(asking, telling, spans, self.heads)[0])

    def attention(self, query: Tensor, key: Tensor, value: Tensor, sight: Sight) -> Tensor:
        """[B, H, T, K] and [B, H, S, K] twice -> [B, H, T, K]."""
        if self.observer is not None:
            return super().attention(query, key, value, sight)
        allowed = sight.allowed()
        few = query.size(2) <= MOST_QUERIES and _decodes_on_a_gpu(query)
        if few and _fits(query, key, value, allowed) and (kernel := trusted("step_attention")):
            attended: Tensor = kernel.attend(query, key, value, allowed)
            return attended
        return F.scaled_dot_product_attention(query, key, value, attn_mask=allowed)

    def step(self, x: Tensor, number: int, state: DecoderState) -> Tensor:
        """[N, W, D] -> the same. Where the state stays in place, attention writes the newest keys and values itself."""
        among = state.listed() if isinstance(state, InPlaceState) and self._writes(x, *state.own[number]) else None
        if among is None or (kernel := trusted("cache_attention")) is None:
            return super().step(x, number, state)
        joined = self.joined.product(x, (self.query, self.key, self.value))
        return self.output(kernel.attend(joined, *state.own[number], among))

    def _writes(self, x: Tensor, keys: Tensor, values: Tensor) -> bool:
        """Whether our kernel for a step serves: on a GPU, without rotation, unobserved."""
        plain = self.observer is None and isinstance(self.rotation, NoRotation) and self._has_equal_widths()
        fits = x.dtype == self.query.weight.dtype == keys.dtype == values.dtype in (torch.float32, *_HALVES)
        return plain and fits and _decodes_on_a_gpu(x)

    def _has_equal_widths(self) -> bool:
        width = self.query.weight.size(0)
        return width == self.value.weight.size(0) and width // self.heads in _WIDTHS

    def _is_joint(self, x: Tensor, memory: Tensor) -> bool:
        """Whether one of our kernels for training serves: on a GPU, in half precision, unobserved."""
        if self.observer is not None or not _learns_on_a_gpu(x) or not self._has_equal_widths():
            return False
        fits = max(x.size(1), memory.size(1)) <= _LONGEST_ROW
        halves = x.dtype in _HALVES or torch.is_autocast_enabled(x.device.type)
        rotates = isinstance(self.rotation, Rotation)
        return fits and halves and works(_kernel_for(x, memory)) and (not rotates or works("turning"))

    def _rotated(self, joined: Tensor, positions: Tensor, heads: int) -> Tensor:
        """[..., M * K] -> the same, the first heads rotated, if the model rotates."""
        if not isinstance(self.rotation, Rotation):
            return joined
        turned: Tensor = torch.ops.regard.turned(joined, *self.rotation.angles(positions), heads, False)
        return turned


class GpuFeedForward(FeedForward):
    """Bias and ReLU go with the product."""

    def forward(self, x: Tensor) -> Tensor:
        """[B, T, D] -> [B, T, D]."""
        weight, bias = self.inner.weight, self.inner.bias
        cuts = isinstance(self.activation, nn.ReLU) and bias is not None
        here = _learns_on_a_gpu(x) or _decodes_on_a_gpu(x)
        if not (cuts and here and x.dtype in _HALVES and x.dtype == weight.dtype and works("relu")):
            return super().forward(x)
        inner: Tensor = torch.ops.regard.relu_product(x.flatten(0, -2), weight, bias)
        return self.outer(inner.view(*x.shape[:-1], -1))


class GpuResidual(Residual):
    """Dropout, sum and normalisation in one kernel, where norms come after sub-layers."""

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """[B, T, D] -> [B, T, D]."""
        decodes = _decodes_on_a_gpu(x)
        if self.pre_norm or not (decodes or _learns_on_a_gpu(x)):
            return super().forward(x, sublayer)
        y, norm, rate = sublayer(x), self.norm, self.dropout.p
        drops = self.dropout.training and rate > 0
        if not _carries(x, y) or (decodes and (drops or norm.weight.dtype != x.dtype)) or not works("residual"):
            return norm(x + self.dropout(y))
        normalised: Tensor
        if decodes and (kernel := trusted("residual")):
            normalised = kernel.norm_of_sum(x, y, norm.weight, norm.bias, norm.eps)
            return normalised
        seed = torch.randint(2**62, (1,), device=x.device) if drops else None
        normalised, *_ = torch.ops.regard.residual_norm(x, y, norm.weight, norm.bias, seed, rate, norm.eps)
        return normalised


class GpuTransformer(Transformer):
    """A step's embeddings and sinusoids in one kernel."""

    def embed_target(self, tokens: Tensor, positions: Tensor) -> Tensor:
        """[B, T] -> [B, T, D]."""
        sinusoids, weight = self.target_positions, self.target_embedding.weight
        step = positions.size(1) == 1 and not self.dropout.training and _decodes_on_a_gpu(weight)
        if not (step and isinstance(sinusoids, TabledSinusoids) and sinusoids.divisors.device == weight.device):
            return super().embed_target(tokens, positions)
        if weight.dtype not in (torch.float32, *_HALVES) or (kernel := trusted("word_vectors")) is None:
            return super().embed_target(tokens, positions)
        order, zero = sinusoids.interleaved, self.settings.start == "zero"
        embedded: Tensor = kernel.embed(tokens, positions, weight, sinusoids.divisors, interleaved=order, zero=zero)
        return embedded


class TabledSinusoids(Sinusoids):
    """Encodings of short rows are looked up."""

    table: Tensor
    divisors: Tensor  # [D / 2] of positions; no buffer, since it stays in float64

    def prepare(self, device: torch.device) -> None:
        """Computes the table."""
        self.register_buffer("table", self.encodings(torch.arange(_TABLE)).to(device), persistent=False)
        self.divisors = 10000 ** (torch.arange(0, self.d_model, 2, dtype=torch.float64, device=device) / self.d_model)

    def forward(self, x: Tensor, positions: Tensor) -> Tensor:
        """[B, T, D] and [B, T] -> [B, T, D]."""
        length = positions.size(1)
        if not 1 < length <= _TABLE:  # a step's positions may be any
            return super().forward(x, positions)
        return x + self.table[:length].to(x.dtype)[positions]


FORMS: dict[type[nn.Module], type[nn.Module]] = {
    MultiHeadAttention: GpuAttention,
    FeedForward: GpuFeedForward,
    Residual: GpuResidual,
    Sinusoids: TabledSinusoids,
    Transformer: GpuTransformer,
    Rotation: RememberingRotation,
}

_SPANS = Remembered()


def spans_of(allowed: Tensor, queries: int) -> Tensor:
    """[B, 1, T or 1, S] -> [B, T]: the first key that a query may look at, and 2^16 times the one after the last.

    A query that may look at nothing has a span that ends before it begins. The keys of a query must be neighbours, as
    those of its sentence in a row are.
    """
    place = torch.arange(allowed.size(3), device=allowed.device, dtype=torch.int32)
    first = torch.where(allowed, place, allowed.size(3)).amin(3)
    beyond = torch.where(allowed, place + 1, 0).amax(3)
    return (first + (beyond << 16)).squeeze(1).expand(-1, queries)


def _kernel_for(x: Tensor, memory: Tensor) -> str:
    return "row_attention" if max(x.size(1), memory.size(1)) <= _SHORT_ROW else "long_rows"


def _learns_on_a_gpu(x: Tensor) -> bool:
    return torch.is_grad_enabled() and x.is_cuda


def _decodes_on_a_gpu(x: Tensor) -> bool:
    return not torch.is_grad_enabled() and x.is_cuda and not torch.compiler.is_compiling()


def _carries(x: Tensor, y: Tensor) -> bool:
    """Whether our kernel can add them."""
    return x.dtype in _HALVES and x.dtype == y.dtype and x.shape == y.shape and _NARROWEST <= x.size(-1) <= _WIDEST


def _side_by_side(x: Tensor, maps: Sequence[nn.Linear]) -> Tensor:
    """[..., D] -> [..., the sum of all widths]: the outputs of all maps, by one product."""
    weight = torch.cat([each.weight for each in maps])
    bias = None if maps[0].bias is None else torch.cat([each.bias for each in maps])
    return F.linear(x, weight, bias)


def _fits(query: Tensor, key: Tensor, value: Tensor, allowed: Tensor) -> bool:
    """Whether our kernel for few queries can hold it."""
    return (
        query.dtype in (torch.float32, *_HALVES)
        and query.dtype == key.dtype == value.dtype
        and query.size(3) == value.size(3) in _WIDTHS
        and allowed.size(1) == 1
        and all(tensor.stride(3) == 1 for tensor in (query, key, value, allowed))
    )
