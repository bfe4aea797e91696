"""Validation: the loss on text that is not trained on, and its translation."""

from __future__ import annotations

import time
from collections.abc import Sequence
from copy import copy
from typing import Any

import torch

from regard import metrics
from regard.batches.corpus import StoredCorpus
from regard.batches.exchanging import exchanged, spread
from regard.batches.loader import Loader, LoaderSettings, Place
from regard.batches.rows import Batch
from regard.models.fast import fast_form
from regard.models.protocols import Architecture, Model
from regard.search import Result, SearchSettings, penalties
from regard.tasks import translation
from regard.tokens import Tokenisers
from regard.training.distribution import Processes
from regard.training.events import Validated
from regard.training.held_out import HeldOut
from regard.training.length_choice import Candidate, candidate, chosen, length_ratio
from regard.training.loss import LossOf
from regard.training.machine.precision import Precision
from regard.training.training_settings import TrainingSettings, ValidationSettings
from regard.training.window import perplexity
from regard.translation.confidence import GOOD, Calibration, fit
from regard.translation.engines.torch import TorchEngine

_SAMPLES = 5
_CHOOSING = 500  # sentences that the length penalty is chosen on
_EXCHANGED = 400  # pairs whose sources are exchanged, at the most


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
        sample = spread(held_out.corpus, _EXCHANGED)
        self._pairs = [
            _one_epoch(corpus, training, shares_rows=kind.shares_rows) if corpus else []
            for corpus in (sample, exchanged(sample))
        ]
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
        worth = self.source_worth()
        seconds = time.monotonic() - began
        return Validated(step, loss, perplexity(likelihood), False, seconds, scores, samples, worth)

    def losses(self) -> tuple[float, float]:
        """The smoothed and the plain loss for each token."""
        return self._losses(self.batches)

    def source_worth(self) -> float | None:
        """How many nats a token the plain loss rises if sources are exchanged between sentences.

        A model that ignores its source loses nothing. None where there is no source, or nothing to exchange.
        """
        own, others = self._pairs
        return self._losses(others)[1] - self._losses(own)[1] if others else None

    def _losses(self, batches: list[Batch]) -> tuple[float, float]:
        self.model.eval()
        sums = torch.zeros(3, dtype=torch.float64, device=self.device)
        with torch.no_grad(), self.precision.cast(self.device):
            for batch in batches[self.processes.rank :: self.processes.ranks]:
                smoothed, likelihood = self.loss(batch.to(self.device))
                sums += torch.stack([smoothed, likelihood, torch.tensor(batch.tokens, device=self.device)]).double()
        smoothed_sum, likelihood_sum, tokens = self.processes.sum(sums).tolist()
        return smoothed_sum / tokens, likelihood_sum / tokens

    def scores(self, search: SearchSettings, *, count: int) -> tuple[dict[str, float], list[str], Calibration]:
        """BLEU and chrF of the translations of the first `count` sentences, the translations, and how sure to be."""
        found = self._found(search, count)
        texts = [self.tokenisers.target.decode(result.hypotheses[0].ids) for result in found]
        references = [[reference] for reference in self.held_out.references[:count]]
        scored = metrics.score(["bleu", "chrf"], texts, references)
        best = [result.hypotheses[0] for result in found]
        calibration = fit(
            [one.total / (len(one.ids) + 1) for one in best],
            [value >= GOOD for value in metrics.sentence_scores("chrf", texts, references)],
        )
        return {score.metric: score.value for score in scored}, texts, calibration

    def length_ratio(self, texts: Sequence[str]) -> float:
        """How long these translations of the first sentences are, relative to their references."""
        return length_ratio(texts, self.held_out.references[: len(texts)])

    def length_penalty(self, *, beam_size: int = 4) -> Candidate:
        """The length penalty that suits the first sentences best; one search tries all penalties."""
        results = self._found(penalties.settings(beam_size=beam_size), _CHOOSING)
        references = self.held_out.references[: len(results)]
        candidates = []
        for number, penalty in enumerate(penalties.PENALTIES):
            texts = [self.tokenisers.target.decode(result.hypotheses[number].ids) for result in results]
            candidates.append(candidate(penalty, texts, references))
        return chosen(candidates)

    def _found(self, search: SearchSettings, count: int) -> list[Result]:
        self.model.eval()
        sentences = [self.tokenisers.source.encode(text) for text in self.held_out.sources[:count]]
        return TorchEngine(self.model, self.tokenisers, device=self.device).search(sentences, search)


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
