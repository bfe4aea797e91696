"""What every task declares.

Shapes: B rows, L tokens a row.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from regard.batches.loader import Key, MakeBatch
from regard.batches.rows import Batch, Rows


@dataclass(frozen=True, kw_only=True)
class Task:
    """A task, as the loader, training and model folders know it.

    Its text is read, prepared and validated by the file of the same name in `training/tasks`.
    """

    streams: tuple[str, ...]  # of a batch
    labelled: str | None  # the stored stream that has a label for each of its tokens; None: some have one
    batch: MakeBatch
    architecture: str  # of a model whose recipe names none
    preset: str | None  # what is trained where no preset was named; None: advice by the size of the corpus
    opens_as: str | None  # the class of the object that `regard.load` gives, as `room.file.Class`; None: see `instead`
    instead: str = ""  # what to do with a model that does not open
    unit: str = "texts"  # what examples are called
    labels_in_data: bool = False  # whether the size of a model depends on labels or vectors that only the data know

    vectors: str = ""  # the setting of a model for the shape of its vectors; empty: it reads tokens

    @property
    def translates(self) -> bool:
        """Whether a model of it is validated by its translations, and opens as a Translator."""
        return self.opens_as == "translation.translator.Translator"


def shifted(rows: Rows, begin: int) -> tuple[Rows, Tensor]:
    """Rows as a decoder reads them, offset by one position, and its labels (section 3.1): [B, L] each.

    Every position reads the token before it, the first of a sentence `begin`, and predicts its own.
    """
    read = torch.roll(rows.tokens.flatten(), 1).view_as(rows.tokens)
    read.masked_fill_(rows.positions == 0, begin)
    read.masked_fill_(rows.segments == 0, 0)
    return Rows(read, rows.segments, rows.positions), rows.tokens


def labelled_batch(streams: dict[str, Rows], *, begin: int, tokens: int, key: Key = ()) -> Batch:  # noqa: ARG001
    """A batch of examples whose stored labels stand beside their tokens, from 1; 0: this token has none."""
    labels = streams["labels"]
    ((name, rows),) = ((name, rows) for name, rows in streams.items() if name != "labels")
    labelled = (labels.tokens != 0) & (rows.segments != 0)
    return Batch({name: rows}, (labels.tokens - 1).clamp(min=0), labelled, 0)
