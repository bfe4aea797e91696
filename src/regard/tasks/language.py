"""Language modelling: each token of a text is predicted from those before it.

Streams: `text`. A document is stored with the token that begins all of them and with its end; of a long one, a row
holds a stretch. A position reads its token and predicts the next one; the last position of a stretch predicts nothing,
since the next stretch begins with its token.
"""

from __future__ import annotations

import torch

from regard.batches.loader import Key
from regard.batches.rows import Batch, Rows
from regard.tasks.task import Task


def batch(streams: dict[str, Rows], *, begin: int, tokens: int, key: Key = ()) -> Batch:  # noqa: ARG001
    """Every position predicts the next token of its stretch."""
    text = streams["text"]
    following = torch.roll(text.segments, -1, dims=1)
    following[:, -1] = 0
    labels = torch.roll(text.tokens, -1, dims=1)
    labelled = (following == text.segments) & (text.segments != 0)
    return Batch({"text": text}, labels.masked_fill(~labelled, 0), labelled, tokens or int(labelled.sum()))


TASK = Task(
    streams=("text",),
    labelled=None,
    batch=batch,
    architecture="decoder_only",
    preset="gpt-small",
    opens_as="family.language_model.LanguageModel",
    unit="documents",
)
