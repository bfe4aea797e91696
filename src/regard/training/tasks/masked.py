"""Masked models: documents whose tokens are hidden; validated by how many are restored."""

from __future__ import annotations

import numpy as np
import torch

from regard.batches.rows import rows_of
from regard.search import SearchSettings
from regard.tasks.masked import MASK, Masking
from regard.tokens import Tokenisers
from regard.tokens.lines import Lines, id_of
from regard.tokens.tokeniser import SPECIAL, Tokeniser
from regard.training.corpora import Corpora
from regard.training.recipe import Recipe
from regard.training.surroundings import Surroundings
from regard.training.tasks.documents import PlainText, Texts
from regard.training.validation import Looking, Validation

_SAMPLES, _TOKENS = 5, 48


class MaskedModelling(PlainText):
    """How masked models are trained."""

    task = "masked"
    protected = (MASK,)

    def corpora(self, recipe: Recipe, around: Surroundings, tokenisers: Tokenisers) -> Corpora:
        """Stretches of documents."""
        shape = masking(tokenisers.source, whole_words=recipe.data.whole_words, share=recipe.data.masked_share)
        rest, held, told = self.split(recipe, around, tokenisers)
        valid = self.stretches(held, recipe, moving=False)
        stream, lines = valid.streams["text"], Lines(tokenisers.source)
        texts = [stream.sentence(number)[:_TOKENS] for number in range(min(_SAMPLES, len(valid)))]
        hidden = [_hidden(ids, shape) for ids in texts]
        samples = Texts(valid, [lines.decode(ids) for ids in hidden], [lines.decode(ids) for ids in texts])
        return Corpora(self.stretches(rest, recipe, moving=True), samples, told, shape)

    def validation(self, looking: Looking) -> Validation:
        """Restores hidden tokens."""
        return MaskedValidation(looking)


class MaskedValidation(Validation):
    """The loss, and the share of hidden tokens that the model restores."""

    def scores(self, search: SearchSettings, *, count: int) -> tuple[dict[str, float], list[str]]:  # noqa: ARG002
        """The accuracy, and a few texts with what the model reads in the place of masks."""
        self.model.eval()
        right = there = 0
        with torch.no_grad():
            for batch in self.batches:
                moved = batch.to(self.device)
                states = self.model.states(moved)[moved.labelled]
                found = self.model.logits(states).argmax(-1)
                right += int((found == moved.labels[moved.labelled]).sum())
                there += len(found)
            return {"accuracy": 100 * right / max(1, there)}, [self._filled(text) for text in self.held_out.sources]

    def _filled(self, text: str) -> str:
        lines = Lines(self.tokenisers.source)
        ids, mask = lines.encode(text), id_of(lines.tokeniser, MASK)
        rows = rows_of([[[*ids, lines.tokeniser.end]]]).to(self.device)
        best = self.model.logits(self.model.states(_Read({"text": rows}))).argmax(-1)[0].tolist()
        return lines.decode([best[place] if token == mask else token for place, token in enumerate(ids)])


class _Read:
    """A batch to read."""

    def __init__(self, streams: dict[str, object]) -> None:
        self.streams = streams


def masking(tokeniser: Tokeniser, *, whole_words: bool, share: float) -> Masking:
    """What the task needs to know of the tokeniser."""
    starts = None
    if whole_words:
        last = tokeniser.size - 1
        starts = np.array([tokeniser.word_starts([last, token])[1] for token in range(tokeniser.size)])
    return Masking(
        mask=id_of(tokeniser, MASK), first=len(SPECIAL), vocabulary=tokeniser.size, word_starts=starts, share=share
    )


def _hidden(ids: list[int], shape: Masking) -> list[int]:
    """The text with every seventh token hidden."""
    return [shape.mask if place % 7 == 3 else token for place, token in enumerate(ids)]


WORK = MaskedModelling()
