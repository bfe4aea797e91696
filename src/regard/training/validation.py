"""Validation: the loss on text that is not trained on, and its translation."""

from __future__ import annotations

import time
from copy import copy
from typing import Any

import torch

from regard import metrics
from regard.batches.corpus import StoredCorpus
from regard.batches.loader import Loader, LoaderSettings, Place
from regard.batches.rows import Batch
from regard.models.fast import fast_form
from regard.models.protocols import Architecture, Model
from regard.search import SearchSettings
from regard.tasks import translation
from regard.tokens import Tokenisers
from regard.training.distribution import Processes
from regard.training.events import Validated
from regard.training.held_out import HeldOut
from regard.training.loop import perplexity
from regard.training.loss import LossOf
from regard.training.machine.precision import Precision
from regard.training.training_settings import TrainingSettings, ValidationSettings
from regard.translation.confidence import GOOD, Calibration, fit
from regard.translation.engines.torch import TorchEngine

_SAMPLES = 5


class Validation:
    """Looks at a model now and then."""

    def __init__(
        self,
        model: Model[Any, Any],
        tokenisers: Tokenisers,
        held_out: HeldOut,
        *,
        training: TrainingSettings,
        settings: ValidationSettings,
        device: torch.device,
        precision: Precision,
        processes: Processes,
        kind: Architecture,
    ) -> None:
        self.model = fast_form(model, "training")
        self.tokenisers, self.held_out, self.settings = tokenisers, held_out, settings
        self.device, self.precision, self.processes = device, precision, processes
        loss = LossOf(self.model, label_smoothing=training.label_smoothing, output_weight=kind.output_weight)
        self.loss = precision.around(loss)
        self.batches = _one_epoch(held_out.corpus, training, shares_rows=kind.shares_rows)
        self._looks = 0

    def alone(self) -> Validation:
        """The same by one process, while the others wait."""
        lonely = copy(self)
        lonely.processes = Processes()
        return lonely

    def look(self, step: int) -> Validated:
        """The loss and, every few looks, the score of translations by greedy search."""
        began = time.monotonic()
        loss, likelihood = self.losses()
        scores: dict[str, float] = {}
        samples: list[tuple[str, str, str]] = []
        self._looks += 1
        if self._looks % self.settings.translate_every == 0 and self.processes.first:
            count = self.settings.translated_pairs
            scores, translations, _ = self.scores(SearchSettings(method="greedy"), count=count)
            samples = list(zip(self.held_out.sources, self.held_out.references, translations, strict=False))[:_SAMPLES]
        self.processes.wait()
        return Validated(step, loss, perplexity(likelihood), False, time.monotonic() - began, scores, samples)

    def losses(self) -> tuple[float, float]:
        """The smoothed and the plain loss for each token."""
        self.model.eval()
        sums = torch.zeros(3, dtype=torch.float64, device=self.device)
        with torch.no_grad(), self.precision.cast(self.device):
            for batch in self.batches[self.processes.rank :: self.processes.ranks]:
                smoothed, likelihood = self.loss(batch.to(self.device))
                sums += torch.stack([smoothed, likelihood, torch.tensor(batch.tokens, device=self.device)]).double()
        smoothed_sum, likelihood_sum, tokens = self.processes.sum(sums).tolist()
        return smoothed_sum / tokens, likelihood_sum / tokens

    def scores(self, search: SearchSettings, *, count: int) -> tuple[dict[str, float], list[str], Calibration]:
        """BLEU and chrF of the translations of the first `count` sentences, the translations, and how sure to be."""
        self.model.eval()
        sentences = [self.tokenisers.source.encode(text) for text in self.held_out.sources[:count]]
        found = TorchEngine(self.model, self.tokenisers, device=self.device).search(sentences, search)
        texts = [self.tokenisers.target.decode(result.hypotheses[0].ids) for result in found]
        references = [[reference] for reference in self.held_out.references[:count]]
        scored = metrics.score(["bleu", "chrf"], texts, references)
        best = [result.hypotheses[0] for result in found]
        calibration = fit(
            [one.total / (len(one.ids) + 1) for one in best],
            [value >= GOOD for value in metrics.sentence_scores("chrf", texts, references)],
        )
        return {score.metric: score.value for score in scored}, texts, calibration


def _one_epoch(corpus: StoredCorpus, training: TrainingSettings, *, shares_rows: bool) -> list[Batch]:
    """All batches of the corpus, once."""
    settings = LoaderSettings(
        batch_tokens=training.batch_tokens, row_lengths=training.row_lengths, share_rows=shares_rows, seed=0
    )
    batches = []
    for batch, after in Loader(corpus, settings, translation.TASK).batches(Place()):
        batches.append(batch)
        if after.epoch:
            break
    return batches
