"""Denoising (T5: Raffel et al., 2019): spans of a text are cut out, and the decoder says what stood there.

Stored stream: `text`. A batch has the streams `source`, the text with a sentinel in the place of each span, and
`target`, each sentinel followed by its span. So the paper's whole Transformer learns from text of any language alone.

Shapes: B rows, L tokens a row.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray

from regard.batches.loader import Key
from regard.batches.rows import Batch, Rows, rows_of
from regard.tasks.task import Task, shifted

SHARE, SPAN = 0.15, 3.0  # of the tokens that are cut out; how long spans are, on average
SENTINELS = tuple(f"<extra_{number}>" for number in range(64))

Ids = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Noise:
    """The ids that take the places of spans; what the loader knows of this task."""

    sentinels: tuple[int, ...]
    end: int
    streams: tuple[str, ...] = ("source", "target")
    labelled: None = None

    def batch(self, streams: dict[str, Rows], *, begin: int, tokens: int, key: Key = ()) -> Batch:  # noqa: ARG002
        """Cuts spans out of every text; which ones depends on the key."""
        text, draw = streams["text"], np.random.default_rng(key)
        sources: list[list[list[int]]] = []
        targets: list[list[list[int]]] = []
        for ids, segments in zip(text.tokens.numpy(), text.segments.numpy(), strict=True):
            pairs = [self.cut(ids[segments == number], draw) for number in range(1, int(segments.max()) + 1)]
            sources.append([source for source, _ in pairs])
            targets.append([target for _, target in pairs])
        length = text.tokens.size(1)
        source, whole = rows_of(sources, length=length), rows_of(targets, length=length)
        target, labels = shifted(whole, begin)
        labelled = target.segments != 0
        return Batch({"source": source, "target": target}, labels, labelled, int(labelled.sum()))

    def cut(self, ids: Ids, draw: np.random.Generator) -> tuple[list[int], list[int]]:
        """A text without some spans, and these; both closed by the end. Neither is longer than the text."""
        ids = ids[:-1] if len(ids) and ids[-1] == self.end else ids
        noise = max(1, round(len(ids) * SHARE))
        if len(ids) < 2:
            return [*ids.tolist(), self.end], [self.end]
        spans = max(1, min(round(noise / SPAN), len(self.sentinels), len(ids) - noise))
        cut, kept = _parts(noise, spans, draw), _parts(len(ids) - noise, spans, draw)
        source: list[int] = []
        target: list[int] = []
        place = 0
        for sentinel, left, out in zip(self.sentinels, kept, cut, strict=False):
            source += [*ids[place : place + left].tolist(), sentinel]
            target += [sentinel, *ids[place + left : place + left + out].tolist()]
            place += left + out
        return [*source, self.end], [*target, self.end]


def _parts(total: int, count: int, draw: np.random.Generator) -> list[int]:
    """`total` as a sum of `count` numbers of at least 1, each way equally likely."""
    cuts = np.sort(draw.choice(total - 1, count - 1, replace=False)) + 1 if count > 1 else np.zeros(0, dtype=int)
    bounds = [0, *cuts.tolist(), total]
    return [after - before for before, after in pairwise(bounds)]


def _whole(streams: dict[str, Rows], *, begin: int, tokens: int, key: Key = ()) -> Batch:  # noqa: ARG001
    """The whole text is the target: what a task without sentinels can do."""
    target, labels = shifted(streams["text"], begin)
    labelled = target.segments != 0
    return Batch({"source": streams["text"], "target": target}, labels, labelled, tokens or int(torch.sum(labelled)))


TASK = Task(
    streams=("source", "target"),
    labelled=None,
    batch=_whole,
    architecture="transformer",
    preset="tiny",
    opens_as=None,
    instead="It was trained to restore text. Give it sentence pairs: regard train PAIRS --from MODEL --out NEW",
    unit="documents",
)
