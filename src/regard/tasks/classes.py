"""Classification: a text has one label.

Stored streams: `text`, and `labels`, which stand beside its tokens: its first token carries the text's label.
"""

from __future__ import annotations

from regard.tasks.task import Task, labelled_batch

TASK = Task(
    streams=("text",),
    labelled=None,
    batch=labelled_batch,
    architecture="encoder_only",
    preset="classes",
    opens_as="family.classifier.Classifier",
    unit="texts",
    labels_in_data=True,
)
