"""Translation: sentence pairs, cleaned and stored; validated by the scores of translations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from regard import metrics
from regard.batches.corpus import StoredCorpus
from regard.batches.exchanging import exchanged
from regard.batches.exchanging import spread as examples
from regard.batches.gathering import Gathered, gathered
from regard.batches.preparation import Source, prepare
from regard.batches.shuffle import shuffled
from regard.batches.splitting import hold_out
from regard.caches import cache_folder
from regard.errors import SettingsError, TrainingError
from regard.search import Result, SearchSettings, penalties
from regard.tasks import translation
from regard.text.bad_input import BadInput
from regard.text.formats import Reading
from regard.text.inspection.test_sets import named_like_test_sets
from regard.text.pairs import Languages
from regard.tokens import Tokenisers
from regard.tokens import train as train_tokenisers
from regard.tokens.training import spread
from regard.training.advice import Budget, advise, suitable_vocabulary
from regard.training.corpora import Corpora, kept_tokenisers
from regard.training.events import Preparing
from regard.training.held_out import HeldOut
from regard.training.length_choice import Candidate, candidate, chosen, length_ratio
from regard.training.machine.estimate import Speeds
from regard.training.machine.precision import advised
from regard.training.recipe import DataSettings, Recipe, Tables
from regard.training.surroundings import Surroundings
from regard.training.tasks.work import Chosen, Work
from regard.training.testing import test
from regard.training.validation import Conclusion, Looking, Validation, one_epoch
from regard.translation.confidence import GOOD, KEY, fit
from regard.translation.engines.torch import TorchEngine

_CHOOSING = 500  # sentences that the length penalty is chosen on
_EXCHANGED = 400  # pairs whose sources are exchanged, at the most
_LENIENT: Mapping[str, Any] = {"max_ratio": None, "drop_copies": False, "drop_duplicates": False}


class Translating(Work):
    """How translators are trained."""

    task = "translation"
    required = (("files", "files of sentence pairs"), ("source", "--source and"), ("target", "--target"))

    def check(self, data: Mapping[str, Any]) -> None:
        """Refuses a [data] table that lacks something."""
        missing = [name for name in ("files", "source", "target") if not data.get(name)]
        if missing:
            raise SettingsError(
                f"the training data are incomplete: {', '.join(missing)} missing.\n"
                "  Give files of sentence pairs, --source and --target, or a recipe with a [data] table."
            )

    def advise(self, data: DataSettings, training: Mapping[str, Any], device: torch.device) -> Chosen:
        """What to train on these data where no preset was named, on this machine, in the time that there is."""
        minutes, steps = training.get("minutes"), training.get("steps")
        if data.adapt:
            return (
                "adapt",
                {},
                [f"Adapting the model {data.adapt}: a low, constant learning rate, with its own tokeniser and size."],
            )
        text = _gathered(data)
        source, target = text.statistics()
        precision, faster = training.get("precision", ""), ""
        if not precision:
            precision, faster = advised(device)
        advice = advise(
            text.pairs,
            source=source,
            target=target,
            languages=Languages(data.source, data.target),
            fast=device.type == "cuda",
            budget=Budget(minutes, Speeds(device, precision).tokens_per_second) if minutes else None,
        )
        tables = advice._replace(steps=steps).tables if steps else advice.tables
        tables["training"]["precision"] = precision
        reasons = (*advice.reasons, faster) if faster else advice.reasons
        return advice.preset, tables, [f"{reason[:1].upper()}{reason[1:]}." for reason in reasons]

    def fit(self, preset: str, given: Tables, checked: Recipe) -> Chosen:
        """The preset that was named, with a vocabulary that suits the corpus unless the tokeniser was chosen."""
        if checked.data.adapt or {"kind", "vocabulary"} & given.get("tokeniser", {}).keys():
            return preset, {}, []
        text = _gathered(checked.data)
        suitable = suitable_vocabulary(text.pairs, checked.tokeniser.vocabulary, text.statistics())
        if suitable is None:
            return preset, {}, []
        vocabulary, reason = suitable
        return preset, {"tokeniser": {"vocabulary": vocabulary}}, [f"{reason}."]

    def tokenisers(self, recipe: Recipe, around: Surroundings) -> Tokenisers:
        """Those that the run has already, or new ones from its text."""

        def make() -> Tokenisers:
            around.journal.say("Reading the corpus.")
            text = gathered(recipe.source(), cache_folder())
            around.journal.say(f"Training the tokeniser on the text of {text.pairs:,} sentence pairs.")
            limit = recipe.tokeniser.sample // 2 if recipe.tokeniser.is_joint else recipe.tokeniser.sample
            every = spread(text.pairs, limit)
            return train_tokenisers(text.sources(every=every), text.targets(every=every), recipe.tokeniser)

        return kept_tokenisers(around, make)

    def corpora(self, recipe: Recipe, around: Surroundings, tokenisers: Tokenisers) -> Corpora:
        """Prepares what is trained on, and reads or holds out what is not."""
        return _corpora(recipe, around, tokenisers)

    def validation(self, looking: Looking) -> Validation:
        """Translates."""
        return TranslationValidation(looking)

    def signatures(self) -> dict[str, str]:
        """Those of BLEU and chrF."""
        counted = metrics.count(["bleu", "chrf"], [""], [[""]])
        return {each.name: each.signature for each in counted}

    def languages(self, data: DataSettings) -> dict[str, str]:
        """Both."""
        return {"source": data.source, "target": data.target}

    def test(self, recipe: Recipe, around: Surroundings) -> None:
        """Translates and scores the test set."""
        test(recipe, around)


class TranslationValidation(Validation):
    """The loss, what the source is worth, and translations with their scores."""

    def __init__(self, looking: Looking) -> None:
        super().__init__(looking)
        sample = examples(looking.held_out.corpus, _EXCHANGED)
        self._pairs = [
            one_epoch(corpus, looking.training, looking.shape, shares_rows=looking.kind.shares_rows) if corpus else []
            for corpus in (sample, exchanged(sample))
        ]

    def scores(self, search: SearchSettings, *, count: int) -> tuple[dict[str, float], list[str]]:
        """BLEU and chrF of the translations of the first `count` sentences, and the translations."""
        texts = self._texts(self._found(search, count))
        return self._scored(texts), texts

    def source_worth(self) -> float | None:
        """How many nats a token the plain loss rises if sources are exchanged between sentences.

        A model that ignores its source loses nothing. None where there is nothing to exchange.
        """
        own, others = self._pairs
        return self.averages(others)[1] - self.averages(own)[1] if others else None

    def conclude(self, *, count: int) -> Conclusion:
        """Chooses the length penalty, scores translations with it, and calibrates the confidence in them."""
        penalty = self.length_penalty().penalty
        found = self._found(SearchSettings(length_penalty=penalty), count)
        texts, best = self._texts(found), [result.hypotheses[0] for result in found]
        references = [[reference] for reference in self.held_out.references[: len(texts)]]
        calibration = fit(
            [one.total / (len(one.ids) + 1) for one in best],
            [value >= GOOD for value in metrics.sentence_scores("chrf", texts, references)],
        )
        lengths = {"length_ratio": length_ratio(texts, self.held_out.references[: len(texts)])}
        scores = self._scored(texts) | lengths
        return Conclusion(scores, texts, {"length_penalty": penalty}, {KEY: calibration.table()})

    def length_penalty(self, *, beam_size: int = 4) -> Candidate:
        """The length penalty that suits the first sentences best; one search tries all penalties."""
        results = self._found(penalties.settings(beam_size=beam_size), _CHOOSING)
        references = self.held_out.references[: len(results)]
        candidates = []
        for number, penalty in enumerate(penalties.PENALTIES):
            texts = [self.tokenisers.target.decode(result.hypotheses[number].ids) for result in results]
            candidates.append(candidate(penalty, texts, references))
        return chosen(candidates)

    def _scored(self, texts: list[str]) -> dict[str, float]:
        references = [[reference] for reference in self.held_out.references[: len(texts)]]
        return {score.metric: score.value for score in metrics.score(["bleu", "chrf"], texts, references)}

    def _texts(self, found: list[Result]) -> list[str]:
        return [self.tokenisers.target.decode(result.hypotheses[0].ids) for result in found]

    def _found(self, search: SearchSettings, count: int) -> list[Result]:
        self.model.eval()
        sentences = [self.tokenisers.source.encode(text) for text in self.held_out.sources[:count]]
        return TorchEngine(self.model, self.tokenisers, device=self.device).search(sentences, search)


def _corpora(recipe: Recipe, around: Surroundings, tokenisers: Tokenisers) -> Corpora:
    """Prepares what is trained on, and reads or holds out what is not."""
    _warn_of_test_sets(recipe, around)
    corpus = _training(recipe, around, tokenisers)
    if recipe.data.valid:
        source = recipe.source(recipe.data.valid)
        source = source.model_copy(update={"cleaning": recipe.cleaning.model_copy(update=_LENIENT)})
        valid = around.first_then_all(lambda: prepare(source, tokenisers, cache_folder()))
        sentence = f"Validation uses the {len(valid):,} pairs of {recipe.data.valid}."
        return Corpora(corpus, _held_out(recipe, around, tokenisers, valid, source), sentence, translation.TASK)
    rest, held = hold_out(corpus, count=_how_many(recipe, corpus), seed=recipe.training.seed)
    if not len(rest):
        raise TrainingError(
            f"{', '.join(recipe.data.files)}: there are too few pairs to hold some out for validation.\n"
            "  Give a validation file: --valid FILE"
        )
    sentence = (
        f"No validation file was given, so Regard holds out {len(held):,} pairs of the training data, "
        "and all other pairs with the same sources."
    )
    source = recipe.source(*recipe.data.files, *recipe.data.old)
    return Corpora(rest, _held_out(recipe, around, tokenisers, held, source), sentence, translation.TASK)


def _held_out(
    recipe: Recipe, around: Surroundings, tokenisers: Tokenisers, corpus: StoredCorpus, source: Source
) -> HeldOut:
    count = max(recipe.validation.pairs, recipe.validation.translated_pairs)
    return HeldOut(corpus, tokenisers, source, count=count, folder=around.work, say=around.journal.say)


def _warn_of_test_sets(recipe: Recipe, around: Surroundings) -> None:
    """A folder often holds the test set as well, and a model that was trained on it cannot be measured by it."""
    data = recipe.data
    reading = Reading(Languages(data.source, data.target), BadInput(skip=True), data.columns, data.encoding)
    names, beside_training = named_like_test_sets(data.files, reading, format=data.format)
    if names and beside_training:
        around.journal.say(
            f"Warning: {', '.join(names)} are named like test or validation sets, but training uses them.\n"
            "  If they are test sets, stop this run and give only the training files."
        )


def _how_many(recipe: Recipe, corpus: StoredCorpus) -> int:
    """A twentieth of a small corpus, and not more than the recipe says."""
    return max(1, min(recipe.validation.pairs, len(corpus) // 20))


def _training(recipe: Recipe, around: Surroundings, tokenisers: Tokenisers) -> StoredCorpus:
    """The stored corpus; where a model is adapted, with some of what it was trained on mixed in."""

    def prepared(*files: str) -> StoredCorpus:
        source = recipe.source(*files)
        return prepare(
            source,
            tokenisers,
            cache_folder(),
            progress=lambda pairs, total: around.journal.show(Preparing(pairs, total)),
        )

    new = around.first_then_all(prepared)
    if not recipe.data.old:
        return new
    both = around.first_then_all(lambda: prepared(*recipe.data.files, *recipe.data.old))
    older, share = len(both) - len(new), recipe.data.old_share
    wanted = min(older, round(len(new) * share / (1 - share)))
    chosen = shuffled(np.arange(wanted), count=max(1, older), key=(recipe.training.seed, "old"))
    return both.take(np.concatenate([np.arange(len(new)), len(new) + np.sort(chosen)]))


def _gathered(data: DataSettings) -> Gathered:
    """The text, read once for all that follows."""
    source = Source(
        data=data.files,
        source=data.source,
        target=data.target,
        format=data.format,
        columns=data.columns,
        encoding=data.encoding,
        skip_bad=data.skip_bad,
    )
    return gathered(source, cache_folder())


WORK = Translating()
