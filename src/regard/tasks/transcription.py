"""Transcription: a sequence of vectors, such as the patches of an image, is translated into its text.

Streams: `source`, which holds vectors, and `target`.
"""

from __future__ import annotations

from regard.tasks import translation
from regard.tasks.task import Task

TASK = Task(
    streams=("source", "target"),
    labelled="target",
    batch=translation.batch,
    architecture="transformer",
    preset="transcription",
    opens_as="family.transcriber.Transcriber",
    unit="examples",
    labels_in_data=True,
    vectors="source_vectors",
)
