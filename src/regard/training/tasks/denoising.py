"""Denoising: documents with spans cut out, for the paper's whole Transformer; validated by the loss."""

from __future__ import annotations

from regard.tasks.denoising import SENTINELS, Noise
from regard.tokens import Tokenisers
from regard.tokens.lines import id_of
from regard.training.corpora import Corpora
from regard.training.recipe import DataSettings, Recipe
from regard.training.surroundings import Surroundings
from regard.training.tasks.documents import PlainText, Texts


class Denoising(PlainText):
    """How models are trained to restore text."""

    task = "denoising"
    protected = SENTINELS

    def corpora(self, recipe: Recipe, around: Surroundings, tokenisers: Tokenisers) -> Corpora:
        """Stretches of documents."""
        tokeniser = tokenisers.source
        shape = Noise(sentinels=tuple(id_of(tokeniser, each) for each in SENTINELS), end=tokeniser.end)
        rest, held, told = self.split(recipe, around, tokenisers)
        valid = Texts(self.stretches(held, recipe, moving=False))
        return Corpora(self.stretches(rest, recipe, moving=True), valid, told, shape)

    def languages(self, data: DataSettings) -> dict[str, str]:
        """Those that were given."""
        return {side: code for side, code in (("source", data.source), ("target", data.target)) if code}


WORK = Denoising()
