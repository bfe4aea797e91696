"""Models that read whole texts: their outputs at each position, and texts as vectors.

Shapes: T tokens of a text, D width, V vocabulary or labels.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import torch
from torch import Tensor

from regard.batches.rows import rows_of
from regard.errors import TextError
from regard.family.opened import Opened
from regard.tasks.masked import batch_of


class Reading(Opened):
    """An encoder-only model."""

    @torch.no_grad()
    def outputs(self, texts: Sequence[Sequence[int]]) -> Iterator[tuple[int, Tensor]]:
        """The number and the logits of each text, [T, V], in any order."""
        closed = [[*ids, self.tokeniser.end] for ids in texts]
        for numbers in self.grouped(closed):
            with self.lock:
                batch = batch_of(rows_of([[closed[number]] for number in numbers])).to(self.device)
                logits = self.model(batch).float().cpu()
            for number, each in zip(numbers, logits, strict=True):
                yield number, each[: len(texts[number])]

    @torch.no_grad()
    def embed(self, texts: str | Iterable[str]) -> Tensor:
        """[texts, D] a vector for each text, of length 1: the mean of the states of its tokens."""
        listed = [texts] if isinstance(texts, str) else list(texts)
        if not listed:
            raise TextError("There is no text to embed.\n  Give at least one.")
        closed = [[*self.lines.encode(text), self.tokeniser.end] for text in listed]
        found = torch.zeros(len(listed), self.model.settings.d_model)
        for numbers in self.grouped(closed):
            rows = rows_of([[closed[number]] for number in numbers]).to(self.device)
            with self.lock:
                states = self.model.read(rows).float()
            real = (rows.segments != 0)[..., None]
            found[numbers] = ((states * real).sum(1) / real.sum(1)).cpu()
        return torch.nn.functional.normalize(found, dim=-1)
