"""Attention without padding, for training on a CPU: each real token once, each sentence by itself.

A GPU is fastest with rows of one length. A CPU gains by leaving out what no loss depends on: padding, and the scores
between sentences that share a row. So the real tokens of a batch are one long list, which is all that the position-wise
parts of a model need. For attention alone, sentences of about equal length are gathered into blocks.

A product is faster with a round number of rows, and faster still with a number that it had before. So a list ends with
a few copies of its first token, which attend to nothing and to which nothing attends.

Shapes: B rows of a batch, L tokens a row; P real tokens of a side and those at the end, D width; in a block N sentences
of W tokens, padded; H heads, K width of a head; R = the sum of N * H * W over all blocks, and H for each token at the
end.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.models.protocols import Rows

_STEP, _STEP_IN_BF16 = 8, 16  # sentences of a block differ in length by less than this
ROUND = 32  # a list has a multiple of this many tokens

Numbers = NDArray[np.int64]


class Block(NamedTuple):
    """Sentences of about equal length, a part of the R places."""

    first: int
    last: int
    sentences: int
    width: int

    def of(self, tensor: Tensor) -> Tensor:
        """[R, K] -> [N * H, W, K]."""
        return tensor[self.first : self.last].view(-1, self.width, tensor.size(1))


class Blocks(NamedTuple):
    """Who looks at whom, sentence by sentence: what a mask is for rows."""

    blocks: list[Block]
    masks: list[Tensor]  # for each block, what is added to the scores: [N, 1, 1, W] or [W, W]
    queries: Tensor  # [P * H] the place of each head of each token among the R
    keys: Tensor  # [P * H]
    size: int  # R

    def without_the_end(self, places: Tensor) -> Tensor:
        """[R, K] as it is, with zeros for the tokens that are in no block."""
        places[self.blocks[-1].last :] = 0
        return places

    def attend(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """Section 3.2.1 for all heads: [P, H * K], and [P, H * K] of the other side twice -> [P, H * K]."""
        attended: Tensor = _Attention.apply(query, key, value, self)  # type: ignore[no-untyped-call]
        return attended


class _Attention(torch.autograd.Function):
    """softmax(QK^T / sqrt(d_k))V in each block. Padding holds zeros, and so do its gradients."""

    @staticmethod
    def forward(ctx: Any, query: Tensor, key: Tensor, value: Tensor, blocks: Blocks) -> Tensor:
        q, k, v = (
            _placed(x, places, blocks.size)
            for x, places in ((query, blocks.queries), (key, blocks.keys), (value, blocks.keys))
        )
        attended, weights = blocks.without_the_end(torch.empty_like(v)), []
        for block, mask in zip(blocks.blocks, blocks.masks, strict=True):
            scores = _scaled(block.of(q), block.of(k).transpose(1, 2), q.size(1))
            scores.view(block.sentences, -1, block.width, block.width).add_(mask)
            weights.append(scores.softmax(-1))
            torch.bmm(weights[-1], block.of(v), out=block.of(attended))
        ctx.blocks = blocks
        ctx.save_for_backward(q, k, v, *weights)
        return attended.index_select(0, blocks.queries).view(query.size(0), -1)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        q, k, v, *weights = ctx.saved_tensors
        blocks: Blocks = ctx.blocks
        g = _placed(gradients[0], blocks.queries, blocks.size)
        for_q, for_k, for_v = (blocks.without_the_end(torch.empty_like(x)) for x in (q, k, v))
        for block, weight in zip(blocks.blocks, weights, strict=True):
            torch.bmm(weight.transpose(1, 2), block.of(g), out=block.of(for_v))
            for_weights = torch.bmm(block.of(g), block.of(v).transpose(1, 2))
            for_scores = for_weights.sub_((for_weights * weight).sum(-1, keepdim=True)).mul_(weight)
            _scaled(for_scores, block.of(k), q.size(1), out=block.of(for_q))
            _scaled(for_scores.transpose(1, 2), block.of(q), q.size(1), out=block.of(for_k))
        of = ((for_q, blocks.queries), (for_k, blocks.keys), (for_v, blocks.keys))
        count = len(gradients[0]) * len(blocks.keys) // len(blocks.queries)
        q_, k_, v_ = (x.index_select(0, places) for x, places in of)
        return q_.view(len(gradients[0]), -1), k_.view(count, -1), v_.view(count, -1), None


def _placed(x: Tensor, places: Tensor, size: int) -> Tensor:
    """[P, H * K] -> [R, K], with zeros where there is no token."""
    width = x.numel() // len(places)
    return x.new_zeros(size, width).index_copy_(0, places, x.reshape(-1, width))


def _scaled(a: Tensor, b: Tensor, width: int, out: Tensor | None = None) -> Tensor:
    """Ab / sqrt(d_k) for a batch of matrices."""
    return torch.baddbmm(a.new_zeros(()), a, b, beta=0, alpha=1 / math.sqrt(width), out=out)


class RealTokens:
    """The real tokens of a batch's streams as lists, row by row, and its sentences in blocks."""

    def __init__(self, streams: Mapping[str, Rows], *, heads: int, dtype: torch.dtype) -> None:
        self.shapes = {name: rows.segments.shape for name, rows in streams.items()}
        self._sides, self._dtype = {name: _side(rows) for name, rows in streams.items()}, dtype
        sides = list(self._sides.values())
        assert len({len(side.lengths) for side in sides}) == 1, "a sentence is missing in one of the streams"
        step = _STEP_IN_BF16 if dtype == torch.bfloat16 else _STEP
        widths = -(-np.max([side.lengths for side in sides], axis=0) // step) * step
        self._order = np.argsort(widths, kind="stable")
        sizes = widths[self._order] * heads
        starts = np.empty_like(widths)
        starts[self._order] = sizes.cumsum() - sizes
        self._blocks = list(_blocks(widths[self._order], heads))
        self._size = int(sizes.sum()) + heads * max(side.end for side in sides)
        self._heads_of = {name: side.places(starts, widths, heads) for name, side in self._sides.items()}
        self.places = {name: side.listed() for name, side in self._sides.items()}
        self._masks: dict[str, list[Tensor]] = {}

    def blocks(self, queries: str, keys: str, *, backwards: bool) -> Blocks:
        """How the tokens of one stream look at those of another, or of the same, in each sentence."""
        name = "backwards" if backwards else keys
        if name not in self._masks:
            self._masks[name] = list(self._backwards() if backwards else self._real(self._sides[keys].lengths))
        return Blocks(self._blocks, self._masks[name], self._heads_of[queries], self._heads_of[keys], self._size)

    def rows(self, stream: str, states: Tensor) -> Tensor:
        """[P, D] -> [B, L, D], with zeros for padding."""
        shape, count = self.shapes[stream], len(self._sides[stream].tokens)
        rows = states.new_zeros(shape.numel(), states.size(1))
        return rows.index_copy(0, self.places[stream][:count], states[:count]).view(*shape, -1)

    def _real(self, lengths: Numbers) -> Iterator[Tensor]:
        first = 0
        for block in self._blocks:
            those = lengths[self._order[first : first + block.sentences]]
            first += block.sentences
            yield _added(np.arange(block.width) < those[:, None, None, None], self._dtype)

    def _backwards(self) -> Iterator[Tensor]:
        for block in self._blocks:
            yield _added(np.tri(block.width, dtype=bool), self._dtype)


class _Side(NamedTuple):
    """The real tokens of one side."""

    tokens: Numbers  # where each stands in the rows
    positions: Numbers  # and in its sentence
    sentences: Numbers  # the number of its sentence
    lengths: Numbers  # of each sentence

    @property
    def end(self) -> int:
        """So many tokens come after them, that their number be round."""
        return -len(self.tokens) % ROUND

    def listed(self) -> Tensor:
        """[P] where each token stands in the rows; those at the end are copies of the first."""
        return torch.from_numpy(np.append(self.tokens, np.full(self.end, self.tokens[0])))

    def places(self, starts: Numbers, widths: Numbers, heads: int) -> Tensor:
        """[P * H] the place of each head of each token, by where sentences start and how wide their blocks are."""
        first, step = starts[self.sentences] + self.positions, widths[self.sentences]
        places = (first[:, None] + step[:, None] * np.arange(heads)).ravel()
        return torch.from_numpy(np.append(places, widths.sum() * heads + np.arange(self.end * heads)))


def _side(rows: Rows) -> _Side:
    segments = rows.segments.numpy()
    tokens = np.flatnonzero(segments)
    names = segments.ravel()[tokens] + tokens // segments.shape[1] * (segments.max(initial=0) + 1)
    sentences = (np.diff(names, prepend=-1) != 0).cumsum() - 1
    return _Side(tokens, rows.positions.numpy().ravel()[tokens], sentences, np.bincount(sentences))


def _blocks(widths: Numbers, heads: int) -> Iterator[Block]:
    """The blocks of sentences whose widths do not fall."""
    first = 0
    for width, count in zip(*np.unique(widths, return_counts=True), strict=True):
        last = first + int(width) * int(count) * heads
        yield Block(first, last, int(count), int(width))
        first = last


def _added(allowed: NDArray[np.bool_], dtype: torch.dtype) -> Tensor:
    """Zero where looking is allowed, minus infinity elsewhere."""
    return torch.zeros(allowed.shape, dtype=dtype).masked_fill_(torch.from_numpy(~allowed), -math.inf)
