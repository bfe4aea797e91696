"""What every task declares.

Shapes: B rows, L tokens a row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from regard.batches.rows import Batch, Rows


class MakeBatch(Protocol):
    """From rows as they are stored, each sentence closed by its end token, to what a model reads and predicts."""

    def __call__(self, streams: dict[str, Rows], *, begin: int, tokens: int) -> Batch:
        """`begin` is the token before the first one; `tokens` labels are in the batch, over all processes."""


@dataclass(frozen=True, kw_only=True)
class Task:
    """A task, as the loader, training and model folders know it."""

    streams: tuple[str, ...]  # in the order in which they are stored
    labelled: str  # the stream that has a label for each of its tokens
    batch: MakeBatch
    architecture: str  # of a model whose recipe names none
    translates: bool  # whether a model of it is validated by its translations, and opens as a Translator


def shifted(rows: Rows, begin: int) -> tuple[Rows, Tensor]:
    """Rows as a decoder reads them, offset by one position, and its labels (section 3.1): [B, L] each.

    Every position reads the token before it, the first of a sentence `begin`, and predicts its own.
    """
    read = torch.roll(rows.tokens.flatten(), 1).view_as(rows.tokens)
    read.masked_fill_(rows.positions == 0, begin)
    read.masked_fill_(rows.segments == 0, 0)
    return Rows(read, rows.segments, rows.positions), rows.tokens
