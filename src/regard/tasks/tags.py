"""Tagging: every word of a text has a tag.

Stored streams: `text`, and `labels`, which stand beside its tokens: the first token of a word carries its tag.
"""

from __future__ import annotations

from regard.batches.loader import Key
from regard.batches.rows import Batch, Rows
from regard.tasks.task import Task, labelled_batch


def batch(streams: dict[str, Rows], *, begin: int, tokens: int, key: Key = ()) -> Batch:  # noqa: ARG001
    """The text, and its labels where it has some."""
    return labelled_batch(streams["text"], streams["labels"])


TASK = Task(
    streams=("text",),
    labelled=None,
    batch=batch,
    architecture="encoder_only",
    preset="tags",
    opens_as="family.tagger.Tagger",
    unit="sentences",
    labels_in_data=True,
)
