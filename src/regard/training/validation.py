"""Validation: the loss on text that is not trained on, and what else a task measures there."""

from __future__ import annotations

import time
from copy import copy
from typing import Any, NamedTuple

import torch

from regard.batches.corpus import StoredCorpus
from regard.batches.loader import Loader, LoaderSettings, Place, Shape
from regard.batches.rows import Batch
from regard.models.fast import fast_form
from regard.models.protocols import Architecture, Model
from regard.search import SearchSettings
from regard.tokens import Tokenisers
from regard.training.corpora import Held
from regard.training.distribution import Processes
from regard.training.events import Validated
from regard.training.loss import LossOf
from regard.training.machine.precision import Precision
from regard.training.training_settings import TrainingSettings, ValidationSettings
from regard.training.window import perplexity

_SAMPLES = 5


class Looking(NamedTuple):
    """What a validation looks at, and how."""

    model: Model[Any, Any]
    tokenisers: Tokenisers
    held_out: Held
    shape: Shape
    training: TrainingSettings
    settings: ValidationSettings
    device: torch.device
    precision: Precision
    processes: Processes
    kind: Architecture


class Conclusion(NamedTuple):
    """What a finished model is like on held-out examples."""

    scores: dict[str, float]
    texts: list[str]  # what it says to the first ones
    search: dict[str, float]  # settings of the search that suit it
    described: dict[str, Any]  # what else its folder says about its training


class Validation:
    """Looks at a model now and then. Tasks differ in `scores`."""

    def __init__(self, looking: Looking) -> None:
        model, self.tokenisers, self.held_out, shape, training, *_ = looking
        self.settings, self.device, self.precision, self.processes = looking[5:9]
        self.model, kind = fast_form(model, "training"), looking.kind
        loss = LossOf(self.model, label_smoothing=training.label_smoothing, output_weight=kind.output_weight)
        self.loss = self.precision.around(loss)
        self.batches = one_epoch(self.held_out.corpus, training, shape, shares_rows=kind.shares_rows)
        self._looks = 0

    def alone(self) -> Validation:
        """The same by one process, while the others wait."""
        lonely = copy(self)
        lonely.processes = Processes()
        return lonely

    def look(self, step: int) -> Validated:
        """The loss and, every few looks, scores and samples."""
        began = time.monotonic()
        loss, likelihood = self.losses()
        scores: dict[str, float] = {}
        samples: list[tuple[str, str, str]] = []
        self._looks += 1
        if self._looks % self.settings.translate_every == 0 and self.processes.first:
            count = self.settings.translated_pairs
            scores, translations = self.scores(SearchSettings(method="greedy"), count=count)
            samples = list(zip(self.held_out.sources, self.held_out.references, translations, strict=False))[:_SAMPLES]
        self.processes.wait()
        worth = self.source_worth()
        seconds = time.monotonic() - began
        return Validated(step, loss, perplexity(likelihood), False, seconds, scores, samples, worth)

    def losses(self) -> tuple[float, float]:
        """The smoothed and the plain loss for each token."""
        return self.averages(self.batches)

    def averages(self, batches: list[Batch]) -> tuple[float, float]:
        """The smoothed and the plain loss for each token of these batches."""
        self.model.eval()
        sums = torch.zeros(3, dtype=torch.float64, device=self.device)
        with torch.no_grad(), self.precision.cast(self.device):
            for batch in batches[self.processes.rank :: self.processes.ranks]:
                smoothed, likelihood = self.loss(batch.to(self.device))
                sums += torch.stack([smoothed, likelihood, torch.tensor(batch.tokens, device=self.device)]).double()
        smoothed_sum, likelihood_sum, tokens = self.processes.sum(sums).tolist()
        return smoothed_sum / tokens, likelihood_sum / tokens

    def scores(self, search: SearchSettings, *, count: int) -> tuple[dict[str, float], list[str]]:  # noqa: ARG002
        """Scores of held-out examples, by their names, and what the model says to the first `count` of them."""
        return {}, []

    def conclude(self, *, count: int) -> Conclusion:
        """What is measured at the end of a training, with `count` examples for the scores."""
        scores, texts = self.scores(SearchSettings(), count=count)
        return Conclusion(scores, texts, {}, {})

    def source_worth(self) -> float | None:
        """What the source is worth to the model, in nats a token; None where a task has no source."""
        return None


def one_epoch(corpus: StoredCorpus, training: TrainingSettings, shape: Shape, *, shares_rows: bool) -> list[Batch]:
    """All batches of the corpus, once."""
    settings = LoaderSettings(
        batch_tokens=training.batch_tokens, row_lengths=training.row_lengths, share_rows=shares_rows, seed=0
    )
    batches = []
    for batch, after in Loader(corpus, settings, shape).batches(Place()):
        batches.append(batch)
        if after.epoch:
            break
    return batches
