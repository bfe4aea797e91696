"""Language modelling: each token of a text is predicted from those before it.

Streams: `text`.
"""

from __future__ import annotations

from regard.batches.rows import Batch, Rows
from regard.tasks.task import Task, shifted


def batch(streams: dict[str, Rows], *, begin: int, tokens: int) -> Batch:
    """The model reads a text offset by one position, and predicts it."""
    text, labels = shifted(streams["text"], begin)
    return Batch({"text": text}, labels, text.segments != 0, tokens)


TASK = Task(streams=("text",), labelled="text", batch=batch, architecture="decoder_only", translates=False)
