"""Translation: a source sentence and its target, of which each token is predicted from the source and those before it.

Streams: `source`, `target`.
"""

from __future__ import annotations

from collections.abc import Sequence

from regard.batches.loader import Key
from regard.batches.rows import Batch, Rows, rows_of
from regard.tasks.task import Task, shifted

Sentence = Sequence[int]


def batch(streams: dict[str, Rows], *, begin: int, tokens: int, key: Key = ()) -> Batch:  # noqa: ARG001
    """The decoder reads the target offset by one position, and predicts it."""
    target, labels = shifted(streams["target"], begin)
    return Batch({"source": streams["source"], "target": target}, labels, target.segments != 0, tokens)


def batch_of(
    rows: Sequence[Sequence[tuple[Sentence, Sentence]]],
    *,
    begin: int,
    end: int,
    source_end: int | None = None,
    length: int | None = None,
) -> Batch:
    """The batch of rows of (source, target) pairs, each sentence without its end; `source_end` is `end` by default."""
    source_end = end if source_end is None else source_end
    source = rows_of([[[*source, source_end] for source, _ in row] for row in rows], length=length)
    target = rows_of([[[*target, end] for _, target in row] for row in rows], length=length)
    return batch({"source": source, "target": target}, begin=begin, tokens=int((target.segments != 0).sum()))


TASK = Task(
    streams=("source", "target"),
    labelled="target",
    batch=batch,
    architecture="transformer",
    preset=None,
    opens_as="translation.translator.Translator",
    unit="sentence pairs",
)
