"""Transcribers: vectors or images with a text each; validated by the scores of the texts that the model reads."""

from __future__ import annotations

from collections.abc import Sequence

from regard import tasks
from regard.errors import CorpusError
from regard.family.transcriber import transcribed
from regard.search import Result, SearchSettings
from regard.tokens import Tokenisers
from regard.tokens import train as train_tokenisers
from regard.training.corpora import Corpora, kept_tokenisers
from regard.training.recipe import DataSettings, Recipe
from regard.training.surroundings import Surroundings
from regard.training.tasks.documents import Texts
from regard.training.tasks.translation import Translating, TranslationValidation
from regard.training.tasks.vectors import Vectors
from regard.training.testing import test_of_another_task
from regard.training.validation import Looking, Validation
from regard.vectors.examples import Example


class Transcription(Vectors):
    """How transcribers are trained."""

    task, wanted, stream, beside = "transcription", "texts", "source", "target"

    def tokenisers(self, recipe: Recipe, around: Surroundings) -> Tokenisers:
        """Those that the run has already, or new ones from its texts."""

        def make() -> Tokenisers:
            around.journal.say("Training the tokeniser.")
            shape = self.shape(recipe.data)
            texts = (each.said for each in self.examples(recipe.data, recipe.data.files, shape))
            return train_tokenisers(texts, (), recipe.tokeniser)

        return kept_tokenisers(around, make)

    def encode(self, example: Example, tokenisers: Tokenisers, labels: Sequence[str]) -> list[int]:  # noqa: ARG002
        """The tokens of the text, and its end."""
        ids = tokenisers.target.encode(example.said)
        if not ids:
            raise CorpusError(f"{example.where}: its text is empty.\n  Fill it in, or leave the example out.")
        return [*ids, tokenisers.target.end]

    def corpora(self, recipe: Recipe, around: Surroundings, tokenisers: Tokenisers) -> Corpora:
        """Vectors with texts."""
        shape = self.shape(recipe.data)
        split = self.split(recipe, around, tokenisers, shape, ())
        count = min(len(split.held), max(recipe.validation.pairs, recipe.validation.translated_pairs))
        target = split.held.streams["target"]
        texts = [tokenisers.target.decode(target.sentence(number)) for number in range(count)]
        shown = Texts(split.held, [f"example {number + 1}" for number in range(count)], texts)
        return Corpora(split.training, shown, split.told, tasks.task(self.task), {"source_vectors": shape.table()})

    def validation(self, looking: Looking) -> Validation:
        """Reads the held-out examples."""
        return TranscriptionValidation(looking)

    def signatures(self) -> dict[str, str]:
        """Those of BLEU and chrF."""
        return Translating().signatures()

    def languages(self, data: DataSettings) -> dict[str, str]:
        """That of the texts, if it was given."""
        return {"target": data.target} if data.target else {}

    def test(self, recipe: Recipe, around: Surroundings) -> None:
        """Reads and scores the test set."""
        test_of_another_task(recipe, around)


class TranscriptionValidation(TranslationValidation):
    """The same as for translations, of vectors."""

    def _found(self, search: SearchSettings, count: int) -> list[Result]:
        self.model.eval()
        corpus = self.held_out.corpus
        sources = [corpus.streams["source"].vectors(number) for number in range(min(count, len(corpus)))]
        return transcribed(self.model, self.tokenisers.target, sources, search, device=self.device)


WORK = Transcription()
