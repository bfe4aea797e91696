"""Recognisers: vectors or images with a label each; validated by accuracy and F1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from regard import tasks
from regard.batches.rows import rows_of_vectors
from regard.errors import CorpusError
from regard.metrics.labels import label_scores
from regard.search import SearchSettings
from regard.tasks.masked import batch_of
from regard.tokens import Tokenisers
from regard.tokens import train as train_tokenisers
from regard.training.corpora import Corpora, kept_tokenisers
from regard.training.recipe import Recipe
from regard.training.surroundings import Surroundings
from regard.training.tasks.documents import Texts
from regard.training.tasks.vectors import Vectors
from regard.training.validation import Looking, Validation
from regard.vectors.examples import Example

_SAMPLES = 20


class Recognition(Vectors):
    """How recognisers are trained."""

    task, wanted, stream, beside = "recognition", "labels", "vectors", "labels"

    def tokenisers(self, recipe: Recipe, around: Surroundings) -> Tokenisers:
        """Bytes: a model folder has a tokeniser, but vectors need none."""
        bytes_alone = recipe.tokeniser.model_copy(update={"kind": "utf8", "options": {}})
        return kept_tokenisers(around, lambda: train_tokenisers(["labels"], (), bytes_alone))

    def encode(self, example: Example, tokenisers: Tokenisers, labels: Sequence[str]) -> list[int]:  # noqa: ARG002
        """The first vector carries the label."""
        if example.said not in labels:
            raise CorpusError(
                f"{example.where}: the label {example.said!r} does not occur in the training data.\n"
                f"  Known labels: {', '.join(labels)}."
            )
        return [1 + labels.index(example.said), *([0] * (len(example.vectors) - 1))]

    def corpora(self, recipe: Recipe, around: Surroundings, tokenisers: Tokenisers) -> Corpora:
        """Vectors with labels; the labels are those of the training data."""
        shape = self.shape(recipe.data)
        labels = sorted({each.said for each in self.examples(recipe.data, recipe.data.files, shape)})
        if len(labels) < 2:
            raise CorpusError(
                f"{', '.join(recipe.data.files)}: all labels are {labels[0]!r}.\n"
                "  A model needs at least two labels to tell apart."
            )
        split = self.split(recipe, around, tokenisers, shape, labels)
        marks = split.held.streams["labels"]
        numbers = range(min(_SAMPLES, len(split.held)))
        right = [labels[int(marks.tokens[marks.starts[number]]) - 1] for number in numbers]
        shown = Texts(split.held, [f"example {number + 1}" for number in numbers], right)
        settings: dict[str, Any] = {"labels": labels, "pooling": "mean", "vectors": shape.table()}
        return Corpora(split.training, shown, split.told, tasks.task(self.task), settings)

    def validation(self, looking: Looking) -> Validation:
        """Predicts labels."""
        return RecognitionValidation(looking)


class RecognitionValidation(Validation):
    """The loss, and the scores of predicted labels."""

    def scores(self, search: SearchSettings, *, count: int) -> tuple[dict[str, float], list[str]]:  # noqa: ARG002
        """The scores of all held-out examples, and the labels of the first ones."""
        self.model.eval()
        labels: Sequence[str] = self.model.settings.labels  # type: ignore[attr-defined]
        predicted: list[str] = []
        right: list[str] = []
        with torch.no_grad():
            for batch in self.batches:
                moved = batch.to(self.device)
                best = self.model(moved)[moved.labelled].argmax(-1).tolist()
                predicted += [labels[each] for each in best]
                right += [labels[each] for each in batch.labels[batch.labelled].tolist()]
            shown = [self.held_out.corpus.streams["vectors"].vectors(n) for n in range(len(self.held_out.sources))]
            first = self.model(batch_of(rows_of_vectors(shown)).to(self.device))[:, 0].argmax(-1).tolist()
        found = label_scores(predicted, right)
        return {"accuracy": found.accuracy, "macro_f1": found.macro_f1}, [labels[each] for each in first]


WORK = Recognition()
