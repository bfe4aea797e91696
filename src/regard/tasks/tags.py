"""Tagging: every word of a text has a tag.

Stored streams: `text`, and `labels`, which stand beside its tokens: the first token of a word carries its tag.
"""

from __future__ import annotations

from regard.tasks.task import Task, labelled_batch

TASK = Task(
    streams=("text",),
    labelled=None,
    batch=labelled_batch,
    architecture="encoder_only",
    preset="tags",
    opens_as="family.tagger.Tagger",
    unit="sentences",
    labels_in_data=True,
)
