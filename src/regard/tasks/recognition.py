"""Recognition: a sequence of vectors, such as the patches of an image, has one label.

Stored streams: `vectors`, and `labels`, which stand beside them: the first vector carries the label of its example.
"""

from __future__ import annotations

from regard.tasks.task import Task, labelled_batch

TASK = Task(
    streams=("vectors",),
    labelled=None,
    batch=labelled_batch,
    architecture="encoder_only",
    preset="recognition",
    opens_as="family.recogniser.Recogniser",
    unit="examples",
    labels_in_data=True,
    vectors="vectors",
)
