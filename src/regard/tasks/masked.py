"""Masked language modelling (BERT): some tokens of a text are hidden, and predicted from all the others.

Streams: `text`. Of all tokens, a share is chosen, 15% by default. Of these, 80% become the mask, 10% any other token,
and 10% stay as they are: a model cannot know which tokens it has to predict, so it has to understand all of them.

Shapes: B rows, L tokens a row.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from regard.batches.loader import Key
from regard.batches.rows import Batch, Rows
from regard.tasks.task import Task

MASK = "[MASK]"
SHARE, MASKED, REPLACED = 0.15, 0.8, 0.1


@dataclass(frozen=True, kw_only=True)
class Masking:
    """Which ids there are to hide tokens, and which tokens belong together; what the loader knows of this task."""

    mask: int
    first: int  # of the ids that may be chosen: those before are special
    vocabulary: int
    word_starts: NDArray[np.bool_] | None = None  # [vocabulary]; given: words are chosen as a whole
    share: float = SHARE  # of tokens that are chosen
    streams: tuple[str, ...] = ("text",)
    labelled: None = None

    def batch(self, streams: dict[str, Rows], *, begin: int, tokens: int, key: Key = ()) -> Batch:  # noqa: ARG002
        """Hides tokens; which ones depends on the key."""
        text = streams["text"]
        ids = text.tokens.numpy()
        draw = np.random.default_rng(key)
        chosen = self._chosen(ids, text, draw)
        fate = draw.random(ids.shape)
        hidden = np.where(chosen & (fate < MASKED), self.mask, ids)
        others = draw.integers(self.first, self.vocabulary, ids.shape)
        hidden = np.where(chosen & (fate >= MASKED) & (fate < MASKED + REPLACED), others, hidden)
        read = Rows(torch.from_numpy(hidden), text.segments, text.positions)
        return Batch({"text": read}, text.tokens, torch.from_numpy(chosen), int(chosen.sum()))

    def _chosen(self, ids: NDArray[np.int64], text: Rows, draw: np.random.Generator) -> NDArray[np.bool_]:
        """[B, L] True for the tokens to predict; at least one of a batch."""
        ordinary = (text.segments.numpy() != 0) & (ids >= self.first) & (ids != self.mask)
        draws = draw.random(ids.shape)
        if self.word_starts is not None:
            starts = self.word_starts[ids] | (text.positions.numpy() == 0)
            draws = draws.ravel()[np.maximum.accumulate(np.where(starts.ravel(), np.arange(ids.size), 0))]
            draws = draws.reshape(ids.shape)
        chosen: NDArray[np.bool_] = ordinary & (draws < self.share)
        if not chosen.any() and ordinary.any():
            chosen = ordinary & (draws == draws[ordinary].min())
        return chosen


def batch_of(text: Rows) -> Batch:
    """The batch of a text that is read as it is, with nothing to predict."""
    return Batch({"text": text}, text.tokens, torch.zeros_like(text.tokens, dtype=torch.bool), 0)


def _unmasked(streams: dict[str, Rows], *, begin: int, tokens: int, key: Key = ()) -> Batch:  # noqa: ARG001
    return batch_of(streams["text"])


TASK = Task(
    streams=("text",),
    labelled=None,
    batch=_unmasked,
    architecture="encoder_only",
    preset="bert-small",
    opens_as="family.masked_model.MaskedModel",
    unit="documents",
)
