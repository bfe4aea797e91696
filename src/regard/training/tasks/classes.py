"""Classifiers: texts with a label each; validated by accuracy and F1."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from regard.metrics.labels import label_scores
from regard.text.bad_input import BadInput
from regard.text.labelled import Labelled, classes
from regard.tokens.tokeniser import Tokeniser
from regard.training.recipe import DataSettings
from regard.training.tasks.labelled import LabelledText


class Classification(LabelledText):
    """How classifiers are trained."""

    task, pooling = "classes", "mean"

    def read(self, data: DataSettings, files: Sequence[str], bad: BadInput) -> Iterator[Labelled]:
        """Texts with a label each."""
        return classes(files, columns=data.columns, bad=bad)

    def encode(self, tokeniser: Tokeniser, example: Labelled) -> tuple[list[int], list[int]]:
        """The first token carries the label."""
        ids = tokeniser.encode(example.text)
        return ids, [0, *([-1] * (len(ids) - 1))]

    def scored(self, predicted: list[list[str]], right: list[list[str]]) -> dict[str, float]:
        """Accuracy and the mean F1 of all labels."""
        found = label_scores([labels[0] for labels in predicted], [labels[0] for labels in right])
        return {"accuracy": found.accuracy, "macro_f1": found.macro_f1}


WORK = Classification()
