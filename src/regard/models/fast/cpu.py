"""A model on a CPU: PyTorch's fused attention, quick dropout, and training without padding (`blocks.py`).

The position-wise parts of a model work on the list of all real tokens, as they are. Only attention needs to know which
tokens belong together: in a stack of a model that trains, it gets `Blocks` instead of a mask.

Shapes: B rows of a batch, L tokens a row, P real tokens, D width; H heads, T queries, S keys, K width of a head.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard.models.fast.blocks import Blocks, RealTokens
from regard.models.fast.dropout import QuickDropout
from regard.models.fast.gpu import MOST_QUERIES
from regard.models.fast.remembering import RememberingRotation
from regard.models.parts.positions import Rotation
from regard.models.protocols import Rows, Sight
from regard.models.transformer import Decoder, Encoder, MultiHeadAttention, OwnSentence, Sinusoids


class CpuAttention(MultiHeadAttention):
    """Attention in blocks of sentences while training, two small products for few queries, PyTorch's otherwise."""

    def forward(self, x: Tensor, memory: Tensor, sight: Sight) -> Tensor:
        """[B, T, D] queries over memory [B, S, D], or [P, D] over [P, D] -> the shape of x."""
        if not isinstance(sight, SightInBlocks):
            return super().forward(x, memory, sight)
        query = self.rotation(self.query(x), sight.query_positions, self.heads)
        key = self.rotation(self.key(memory), sight.key_positions, self.heads)
        return self.output(sight.blocks.attend(query, key, self.value(memory)))

    def attention(self, query: Tensor, key: Tensor, value: Tensor, sight: Sight) -> Tensor:
        """[B, H, T, K] and [B, H, S, K] twice -> [B, H, T, K]."""
        if self.observer is not None:
            return super().attention(query, key, value, sight)
        allowed = sight.allowed()
        if query.size(2) > MOST_QUERIES or torch.is_grad_enabled():
            return F.scaled_dot_product_attention(query, key, value, attn_mask=allowed)
        scores = (query / math.sqrt(query.size(3))) @ key.transpose(2, 3)
        return scores.masked_fill_(~allowed, -math.inf).softmax(-1) @ value


class CpuEncoder(Encoder):
    """A stack that leaves padding out where its rows are listed."""

    def forward(self, x: Tensor, sight: Sight) -> Tensor:
        """[B, S, D] -> [B, S, D]."""
        if not (isinstance(sight, OwnSentence) and isinstance(sight.queries, ListedRows)):
            return super().forward(x, sight)
        rows = sight.queries
        return rows.again(super().forward(rows.listed(x), _in_blocks(sight)))


class CpuDecoder(Decoder):
    """A stack that leaves padding out where its rows are listed."""

    def forward(self, x: Tensor, memory: Tensor, itself: Sight, source: Sight) -> Tensor:
        """[B, T, D] and [B, S, D] -> [B, T, D]."""
        if not (isinstance(itself, OwnSentence) and isinstance(itself.queries, ListedRows)):
            return super().forward(x, memory, itself, source)
        assert isinstance(source, OwnSentence)
        assert isinstance(source.keys, ListedRows)
        x, memory = itself.queries.listed(x), source.keys.listed(memory)
        return itself.queries.again(super().forward(x, memory, _in_blocks(itself), _in_blocks(source)))


class GrowingSinusoids(Sinusoids):
    """Encodings are looked up, in a table that grows with the positions that occur."""

    table: Tensor

    def prepare(self, device: torch.device) -> None:  # noqa: ARG002  a CPU
        """Begins with an empty table."""
        self.table = torch.zeros(0, self.d_model, dtype=torch.float64)

    def forward(self, x: Tensor, positions: Tensor) -> Tensor:
        """[B, T, D] and [B, T] -> [B, T, D]."""
        if positions.device.type != "cpu":
            return super().forward(x, positions)
        longest = int(positions.max()) + 1 if positions.numel() else 0
        table = self.table
        if longest > len(table):
            table = self.table = self.encodings(torch.arange(1 << longest.bit_length()))
        return x + table.to(x.dtype)[positions]


FORMS: dict[type[nn.Module], type[nn.Module]] = {
    MultiHeadAttention: CpuAttention,
    Encoder: CpuEncoder,
    Decoder: CpuDecoder,
    Sinusoids: GrowingSinusoids,
    Rotation: RememberingRotation,
    nn.Dropout: QuickDropout,
}


class ListedRows(NamedTuple):
    """Rows of a batch, and where its real tokens stand in them."""

    tokens: Tensor
    segments: Tensor
    positions: Tensor
    stream: str
    real: RealTokens

    def listed(self, x: Tensor) -> Tensor:
        """[B, L, D] -> [P, D], and a few rows more, so that their number is round."""
        return x.flatten(0, 1)[self.real.places[self.stream]]

    def again(self, x: Tensor) -> Tensor:
        """[P, D] -> [B, L, D], with zeros for padding: no loss is computed there."""
        return self.real.rows(self.stream, x)


class SightInBlocks(NamedTuple):
    """Who looks at whom, for lists of tokens."""

    blocks: Blocks
    query_positions: Tensor  # [P]
    key_positions: Tensor  # [P]

    def allowed(self) -> Tensor:
        """A list has no mask."""
        raise NotImplementedError


def _in_blocks(sight: OwnSentence) -> SightInBlocks:
    queries, keys = sight.queries, sight.keys
    assert isinstance(queries, ListedRows)
    assert isinstance(keys, ListedRows)
    real = queries.real
    positions = (rows.positions.flatten()[real.places[rows.stream]] for rows in (queries, keys))
    return SightInBlocks(real.blocks(queries.stream, keys.stream, backwards=sight.backwards), *positions)


def without_padding(model: Any) -> Any:
    """The same model, which lists the real tokens of each batch before it trains on it."""
    if any(isinstance(module, CpuEncoder | CpuDecoder) for module in model.modules()):
        model.__class__ = type(f"Listing{type(model).__name__}", (_Listing, type(model)), {})
    return model


class _Listing(nn.Module):
    def states(self, batch: Any) -> Tensor:
        """[B, T, D] the last hidden states, and zeros at padding."""
        plain: Any = super()
        if not self.training or self._observed():
            return plain.states(batch)
        heads = next(part.heads for part in self.modules() if isinstance(part, MultiHeadAttention))
        streams = batch.streams
        if not any(bool(rows.segments.any()) for rows in streams.values()):
            return plain.states(batch)
        real = RealTokens(streams, heads=heads, dtype=next(self.parameters()).dtype)
        return plain.states(_Listed({name: _listed(name, rows, real) for name, rows in streams.items()}))

    def _observed(self) -> bool:
        return any(part.observer is not None for part in self.modules() if isinstance(part, MultiHeadAttention))


class _Listed(NamedTuple):
    """A batch whose rows are listed."""

    streams: dict[str, ListedRows]


def _listed(stream: str, rows: Rows, real: RealTokens) -> ListedRows:
    return ListedRows(rows.tokens, rows.segments, rows.positions, stream, real)
