"""Which tags the words of a sentence get: the likeliest sequence of those that the training data allow.

Shapes: T words, V tags.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from regard.metrics.spans import may_follow
from regard.search.tag_sequences import best_tags


class TagChoice:
    """`legal`: whether every span begins with `B-`; otherwise, each word has its likeliest tag."""

    def __init__(self, labels: Sequence[str], *, legal: bool) -> None:
        self._legal = legal
        if legal:
            self._may_begin = torch.tensor([may_follow("O", tag, labels) for tag in labels])
            self._may_follow = torch.tensor([[may_follow(before, tag, labels) for tag in labels] for before in labels])

    def __call__(self, logits: Tensor) -> list[int]:
        """[T, V] -> the number of each word's tag."""
        if not self._legal:
            return list(map(int, logits.argmax(-1).tolist()))
        return best_tags(logits.float().log_softmax(-1), self._may_begin, self._may_follow)
