"""What a search reads from logits: their normaliser, the best of them, and the mean of several models.

Shapes: R... rows in any shape, V vocabulary, K words.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import NamedTuple

import torch
from torch import Tensor

from regard.kernels import trusted

_BLOCK = 64
_CACHE = 2**18  # logits that fit into a processor's cache

Find = Callable[[Tensor, int], tuple[Tensor, Tensor]]


class Reading(NamedTuple):
    """What was read from the logits of a model."""

    normaliser: Tensor  # [R...] what is subtracted from a logit to get its log-probability: log sum exp
    maxima: Tensor | None = None  # [R, blocks] the highest logits, for `best`, where a kernel has noted them


def read(logits: Tensor) -> Reading:
    """Of [R..., V].

    The likeliest word's probability gives the normaliser: log p = logit - normaliser, and a softmax is the fastest way
    there.
    """
    flat = logits.flatten(0, -2)
    if kernel := _kernel(logits):
        normalisers, maxima = kernel.scan(flat)
        return Reading(normalisers.view(logits.shape[:-1]), maxima)
    rows = max(1, _CACHE // logits.size(-1)) if logits.device.type == "cpu" else max(1, len(flat))
    likeliest = [part.softmax(-1, dtype=_precise(logits)).amax(-1) for part in torch.split(flat, rows)]
    return Reading((flat.amax(-1) - torch.cat(likeliest).log()).view(logits.shape[:-1]))


def best(logits: Tensor, count: int, *, maxima: Tensor | None = None, forbidden: int = 0) -> tuple[Tensor, Tensor]:
    """[R..., V] -> [R..., K] the K highest logits, highest first, and their words; of equals, the lowest word.

    torch.topk leaves open which of equals it takes. On a processor one word more is looked for, and if no two of them
    are equal, nothing was left open. The `maxima` of a reading serve as long as at most so many words of a row were
    `forbidden` since.
    """
    if kernel := _kernel(logits):
        flat = logits.flatten(0, -2)
        noted = kernel.scan(flat)[1] if maxima is None else maxima
        values, words_of_values = kernel.pick(flat, noted, count, forbidden=forbidden)
        shape = (*logits.shape[:-1], count)
        return values.view(shape), words_of_values.view(shape)
    if logits.device.type == "cpu" and count < logits.size(-1):
        values, words = _best_in_blocks(logits, count + 1, torch.topk)
        if (values[..., 1:] < values[..., :-1]).all():
            return values[..., :count], words[..., :count]
    return _best_in_blocks(logits, count, _best_of_few)


def _best_in_blocks(logits: Tensor, count: int, find: Find) -> tuple[Tensor, Tensor]:
    """The same, by what finds the highest of a few and their places.

    The K blocks of words with the highest maxima are found first: a word outside of them stands behind K words, their
    maxima, so it is not among the K best.
    """
    words = logits.size(-1)
    blocks = words // _BLOCK
    if blocks <= 2 * count:
        return find(logits, count)
    whole = logits[..., : blocks * _BLOCK].view(*logits.shape[:-1], blocks, _BLOCK)
    chosen = find(whole.amax(-1), count)[1].sort(-1).values
    within = torch.arange(_BLOCK, device=logits.device)
    rest = torch.arange(blocks * _BLOCK, words, device=logits.device).expand(*chosen.shape[:-1], -1)
    candidates = torch.cat([(chosen[..., None] * _BLOCK + within).flatten(-2), rest], -1)  # ascending
    values, places = find(logits.gather(-1, candidates), count)
    return values, candidates.gather(-1, places)


def _best_of_few(values: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """[R..., V] -> [R..., K] the highest and their places; of equals, the lowest places."""
    lowest = values.topk(count).values[..., -1:]
    above, equal = values > lowest, values == lowest
    room = count - above.sum(-1, keepdim=True)
    taken = above | (equal & (equal.cumsum(-1) <= room))
    size = values.size(-1)
    from_the_left = (taken * torch.arange(size, 0, -1, device=values.device)).topk(count).values  # size - place
    places = (size - from_the_left).clamp(max=size - 1)
    sorted_values, order = values.gather(-1, places).sort(dim=-1, descending=True, stable=True)
    return sorted_values, places.gather(-1, order)


def combine(logits: Sequence[Tensor]) -> Tensor:
    """The logits of an ensemble: the logarithm of the mean of its members' probabilities, each [R..., V]."""
    assert logits, "an ensemble has at least one member"
    members = torch.stack([member.log_softmax(-1, dtype=_precise(member)) for member in logits])
    return members.logsumexp(0) - members.new_full((), len(logits)).log()  # a fill can be captured, a copy cannot


def _kernel(logits: Tensor) -> ModuleType | None:
    """What reads logits on a GPU in one pass, if it works here."""
    return trusted("logit_reading") if logits.is_cuda and logits.dtype != torch.float64 else None


def _precise(logits: Tensor) -> torch.dtype:
    return torch.promote_types(logits.dtype, torch.float32)
