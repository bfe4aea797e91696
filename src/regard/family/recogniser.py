"""The Recogniser: vectors or images in, labels with probabilities out.

model = regard.load("digits")
model.classify("seven.png").label
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar

import torch

from regard.batches.rows import rows_of_vectors
from regard.family.classifier import Classified
from regard.family.opened import Opened
from regard.family.vector_input import Given, inputs
from regard.tasks.masked import batch_of
from regard.vectors.examples import Example
from regard.vectors.shape import VectorShape

if TYPE_CHECKING:
    from regard.insight.attention import Attention


class Recogniser(Opened):
    """A classifier of vectors: `classify`, `look`, `labels`, `shape`."""

    task: ClassVar[str] = "recognition"

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of all labels."""
        names: tuple[str, ...] = tuple(self.model.settings.labels)
        return names

    @property
    def shape(self) -> VectorShape:
        """What the model reads."""
        found: VectorShape = self.model.settings.vectors
        return found

    def classify(self, given: Given | Iterable[Given]) -> Classified | list[Classified]:
        """The label of one example, or of each of several: arrays, .npz files, images or folders of images."""
        examples, single = inputs(given, self.shape)
        found = self.of(examples)
        return found[0] if single else found

    @torch.no_grad()
    def of(self, examples: list[Example]) -> list[Classified]:
        """The label of each example."""
        found: dict[int, Classified] = {}
        for numbers in self.grouped([range(len(each.vectors)) for each in examples]):
            with self.lock:
                rows = rows_of_vectors([examples[number].vectors for number in numbers])
                shares = self.model(batch_of(rows).to(self.device))[:, 0].float().softmax(-1).cpu()
            for number, share in zip(numbers, shares, strict=True):
                order = share.argsort(descending=True).tolist()
                found[number] = Classified(
                    self.labels[order[0]], {self.labels[label]: float(share[label]) for label in order}
                )
        return [found[number] for number in range(len(examples))]

    def look(self, given: Given, *, without: str = "") -> Attention:
        """What the model looks at in one example; `without` names heads to switch off, as `encoder.2.5`."""
        from regard.insight.look_at_vectors import look_at_vectors
        from regard.models.parts.observation import heads_named

        example = inputs(given, self.shape).examples[0]
        with self.lock:
            return look_at_vectors(
                self.model,
                example,
                self.shape,
                said=self.of([example])[0].label,
                device=self.device,
                off=heads_named(self.model, without) if without else (),
                name=self.name,
            )
