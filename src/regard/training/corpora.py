"""From a recipe to what is trained on: tokenisers, the stored corpus, and pairs that are held out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from regard.batches.corpus import StoredCorpus
from regard.batches.gathering import gathered
from regard.batches.preparation import Source, prepare
from regard.batches.shuffle import shuffled
from regard.batches.splitting import hold_out
from regard.caches import cache_folder
from regard.errors import TrainingError
from regard.files import new_folder
from regard.models.parts.positions import check_length
from regard.models.protocols import Architecture
from regard.settings import Settings
from regard.text.bad_input import BadInput
from regard.text.formats import Reading
from regard.text.inspection.test_sets import named_like_test_sets
from regard.text.pairs import Languages
from regard.tokens import Tokenisers
from regard.tokens import train as train_tokenisers
from regard.tokens.training import spread
from regard.training.events import Preparing
from regard.training.held_out import HeldOut
from regard.training.recipe import Recipe
from regard.training.surroundings import Surroundings

_LENIENT: Mapping[str, Any] = {"max_ratio": None, "drop_copies": False, "drop_duplicates": False}


class Corpora(NamedTuple):
    """What is trained on and what is not."""

    training: StoredCorpus
    held_out: HeldOut
    validation: str  # a sentence about what is held out


def make_tokenisers(recipe: Recipe, around: Surroundings) -> Tokenisers:
    """Those that the run has already, or new ones from its text."""

    def make() -> Tokenisers:
        folder = around.work / "tokeniser"
        if not folder.exists():
            around.journal.say("Reading the corpus.")
            text = gathered(recipe.source(), cache_folder())
            around.journal.say(f"Training the tokeniser on the text of {text.pairs:,} sentence pairs.")
            limit = recipe.tokeniser.sample // 2 if recipe.tokeniser.is_joint else recipe.tokeniser.sample
            every = spread(text.pairs, limit)
            made = train_tokenisers(text.sources(every=every), text.targets(every=every), recipe.tokeniser)
            with new_folder(folder) as new:
                for name, content in made.files().items():
                    (new / name).write_bytes(content)
        return Tokenisers.from_files({file.name: file.read_bytes() for file in folder.iterdir()})

    return around.first_then_all(make)


def make_corpora(recipe: Recipe, around: Surroundings, tokenisers: Tokenisers) -> Corpora:
    """Prepares what is trained on, and reads or holds out what is not."""
    _warn_of_test_sets(recipe, around)
    corpus = _training(recipe, around, tokenisers)
    if recipe.data.valid:
        source = recipe.source(recipe.data.valid)
        source = source.model_copy(update={"cleaning": recipe.cleaning.model_copy(update=_LENIENT)})
        valid = around.first_then_all(lambda: prepare(source, tokenisers, cache_folder()))
        sentence = f"Validation uses the {len(valid):,} pairs of {recipe.data.valid}."
        return Corpora(corpus, _held_out(recipe, around, tokenisers, valid, source), sentence)
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
    return Corpora(rest, _held_out(recipe, around, tokenisers, held, source), sentence)


def _held_out(
    recipe: Recipe, around: Surroundings, tokenisers: Tokenisers, corpus: StoredCorpus, source: Source
) -> HeldOut:
    count = max(recipe.validation.pairs, recipe.validation.translated_pairs)
    return HeldOut(corpus, tokenisers, source, count=count, folder=around.work, say=around.journal.say)


def check_positions(corpora: Corpora, kind: Architecture, settings: Settings) -> None:
    """Refuses sentences with more tokens than a model has learned positions, before a GPU would have to be asked."""
    learned = getattr(settings, "learned_positions", None)
    if learned is not None and kind.longest(settings) == learned:
        check_length(max(corpora.training.longest, corpora.held_out.corpus.longest), learned)


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
