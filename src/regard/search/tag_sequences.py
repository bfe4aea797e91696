"""The best sequence of tags where some tags may not follow others (Viterbi, 1967).

Shapes: T words, V tags.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor


def best_tags(scores: Tensor, may_begin: Tensor, may_follow: Tensor) -> list[int]:
    """[T, V] scores, which are added up -> the T tags with the highest sum of all sequences that are allowed.

    `may_begin` [V] is True for tags that the first word may have; `may_follow` [V, V] is True at [n, m] where tag m may
    stand after tag n.
    """
    if not len(scores):
        return []
    scores = scores.double()
    forbidden = torch.zeros(may_follow.shape, dtype=scores.dtype).masked_fill_(~may_follow, -math.inf)
    best = scores[0].masked_fill(~may_begin, -math.inf)
    before = []
    for word in scores[1:]:
        best, came_from = (best[:, None] + forbidden).max(0)
        best = best + word
        before.append(came_from.tolist())
    tags = [int(best.argmax())]
    for came_from in reversed(before):
        tags.append(came_from[tags[-1]])
    return tags[::-1]
