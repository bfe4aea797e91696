"""The guard against repetition: a model that has said the same few words again and again may not say them once more.

Shapes: N sentences, W hypotheses, V vocabulary, C cycles of 1, 2, ... C words, L words that are looked back at.
"""

from __future__ import annotations

import torch
from torch import Tensor


class RepetitionGuard:
    """Once the last words are `copies` copies of a cycle of at most `cycle` words, forbids the word that goes on."""

    def __init__(self, *, cycle: int, copies: int, device: torch.device | str) -> None:
        self.copies = copies
        self.looks_back = cycle * copies
        periods = torch.arange(1, cycle + 1, device=device)[:, None]
        back = torch.arange(cycle * (copies - 1), device=device)
        self._words = (self.looks_back - 1 - back).expand(cycle, -1)  # [C, L - C] the places of the words, ...
        self._earlier = self._words - periods  # ... and of those one period earlier, which they repeat
        self._irrelevant = back >= periods * (copies - 1)
        self._last = self.looks_back - 1 - periods[:, 0]  # [C] the word one period before the last, ...
        self._last_of_first = self.looks_back - 1 - (copies - 1) * periods[:, 0]  # ... and the last of the first copy
        self._first = self.looks_back - copies * periods[:, 0]  # [C] where the first copy starts
        self._next = self.looks_back - periods[:, 0]  # [C] the word that would begin another copy

    def cycles(self, recent: Tensor) -> Tensor:
        """[N, W, L] the words said last -> [N, W, C] True where they end with all copies of a cycle of that length."""
        repeats = (recent[..., self._words] == recent[..., self._earlier]) | self._irrelevant
        return repeats.all(-1) & (recent[..., self._first] >= 0)

    def forbid(self, logits: Tensor, recent: Tensor) -> Tensor:
        """Takes the word that goes on with a cycle from logits, [N, W, V], in place.

        Gives the highest logit that was taken, [N, W]; -inf where nothing was.
        """
        if recent.device.type == "cpu" and not self._may_repeat(recent):
            return logits.new_full(recent.shape[:2], -torch.inf)
        goes_on, words = self.cycles(recent), recent[..., self._next].clamp(min=0)
        taken = logits.gather(2, words).masked_fill(~goes_on, -torch.inf)
        logits.scatter_add_(2, words, torch.zeros_like(taken).masked_fill(goes_on, -torch.inf))
        return taken.amax(-1)

    def _may_repeat(self, recent: Tensor) -> bool:
        """Whether the last word was also said one period earlier, and at the end of the first copy: little work."""
        last = recent[..., -1:]
        return bool(((recent[..., self._last] == last) & (recent[..., self._last_of_first] == last)).any())
