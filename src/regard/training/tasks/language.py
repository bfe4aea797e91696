"""Language models: documents to read on; validated by the loss, and by how they go on."""

from __future__ import annotations

from regard.batches.corpus import StoredCorpus
from regard.family.generation import Generation
from regard.search import SearchSettings
from regard.tasks import language
from regard.tokens import Tokenisers
from regard.tokens.lines import Lines
from regard.training.corpora import Corpora
from regard.training.recipe import Recipe
from regard.training.surroundings import Surroundings
from regard.training.tasks.documents import PlainText, Texts
from regard.training.validation import Looking, Validation

_SAMPLES, _GIVEN, _SAID = 5, 16, 48  # beginnings, how many tokens they have, and how many more are generated


class LanguageModelling(PlainText):
    """How language models are trained."""

    task = "language"
    opens, shared = True, 1

    def corpora(self, recipe: Recipe, around: Surroundings, tokenisers: Tokenisers) -> Corpora:
        """Stretches of documents."""
        rest, held, told = self.split(recipe, around, tokenisers)
        valid = self.stretches(held, recipe, moving=False)
        texts = _beginnings(valid, Lines(tokenisers.source))
        return Corpora(self.stretches(rest, recipe, moving=True), texts, told, language.TASK)

    def validation(self, looking: Looking) -> Validation:
        """Goes on from a few beginnings."""
        return LanguageValidation(looking)


class LanguageValidation(Validation):
    """The loss, and a few texts that the model has continued."""

    def scores(self, search: SearchSettings, *, count: int) -> tuple[dict[str, float], list[str]]:  # noqa: ARG002
        """No score beside the perplexity, but samples by greedy search."""
        self.model.eval()
        lines = Lines(self.tokenisers.source)
        ids = [lines.encode(text) for text in self.held_out.sources]
        settings = SearchSettings(method="greedy", max_length=_SAID, max_length_factor=0, max_length_offset=_SAID)
        found = Generation(self.model, lines, device=self.device).all(ids, settings)
        return {}, [each[0].text for each in found]


def _beginnings(corpus: StoredCorpus, lines: Lines) -> Texts:
    """Of the first stretches that are held out."""
    stream = corpus.streams["text"]
    texts = [stream.sentence(number)[1:] for number in range(min(_SAMPLES, len(corpus)))]
    long_enough = [ids for ids in texts if len(ids) > 1]
    cuts = [min(_GIVEN, len(ids) // 2) for ids in long_enough]
    sources = [lines.decode(ids[:cut]) for ids, cut in zip(long_enough, cuts, strict=True)]
    references = [lines.decode(ids[cut : cut + _SAID]) for ids, cut in zip(long_enough, cuts, strict=True)]
    return Texts(corpus, sources, references)


WORK = LanguageModelling()
