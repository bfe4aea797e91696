"""Words in and words out, for the models that the Transformer replaced: embeddings below, and the same ones above.

They are the Transformer's own (section 3.4), so that models differ in what lies between and in nothing else.

Shapes: B rows of a batch, S source and T target positions, D = d_model, V the vocabulary.
"""

from __future__ import annotations

from typing import Literal, Self

import torch
from pydantic import Field, PositiveInt, model_validator
from torch import Tensor, nn
from torch.nn import functional as F

from regard.errors import LengthError
from regard.models.parts.vocabularies import vocabularies_fit
from regard.models.protocols import Batch, Rows
from regard.models.transformer import Embedding
from regard.settings import Settings


class WordSettings(Settings):
    """What all of these models have in common."""

    source_vocabulary: PositiveInt
    target_vocabulary: PositiveInt
    d_model: PositiveInt = 512  # the width of an embedding
    dropout: float = Field(default=0.1, ge=0, lt=1)
    tied_embeddings: Literal["all", "target-output", "source-target", "none"] = "all"

    @model_validator(mode="after")
    def _vocabularies_fit(self) -> Self:
        vocabularies_fit(self.tied_embeddings, self.source_vocabulary, self.target_vocabulary)
        return self


class Words(nn.Module):
    """The embeddings of source and target, and the output's."""

    def __init__(self, settings: WordSettings) -> None:
        super().__init__()
        tied, width = settings.tied_embeddings, settings.d_model
        self.source = Embedding(settings.source_vocabulary, width)
        self.target = self.source if tied in ("all", "source-target") else Embedding(settings.target_vocabulary, width)
        self.output = self.target if tied in ("all", "target-output") else Embedding(settings.target_vocabulary, width)

    def read(self, source: Rows) -> Tensor:
        """[B, S, D] the source; padding is zero."""
        return self.source(source.tokens) * (source.segments != 0)[:, :, None]

    def said(self, tokens: Tensor, positions: Tensor) -> Tensor:
        """[...] -> [..., D] what the decoder reads: the word said before each position, and zero before the first."""
        return self.target(tokens).masked_fill((positions == 0)[..., None], 0.0)

    def logits(self, states: Tensor) -> Tensor:
        """[..., D] -> [..., V]."""
        return self.output.logits(states)


class WordModel(nn.Module):
    """What all of these models do alike; each says how it gets from a batch to `states`."""

    words: Words

    def forward(self, batch: Batch) -> Tensor:
        """[B, T, V] the logits of the word after each position of the target."""
        return self.logits(self.states(batch))

    def states(self, batch: Batch) -> Tensor:
        """[B, T, D] what the words are predicted from."""
        raise NotImplementedError

    def logits(self, states: Tensor) -> Tensor:
        """[..., D] -> [..., V]."""
        return self.words.logits(states)


def output_weight(model: WordModel) -> Tensor:
    """[V, D] the matrix that `logits` multiplies by."""
    return model.words.output.weight


class LimitedPositions(nn.Module):
    """A learned vector for each position. Tokens beyond the last position use the last vector."""

    def __init__(self, count: int, d_model: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(count, d_model) * 0.5**0.5)

    def forward(self, positions: Tensor) -> Tensor:
        """[B, T] of whole sentences -> [B, T, D]."""
        learned = self.weight.size(0)
        if positions.size(1) > learned and (longest := int(positions.max()) + 1) > learned:
            raise LengthError(
                f"a sentence of {longest} tokens is too long: this model learned {learned} positions.\n"
                "  Split the text into shorter sentences, or train with more: --set model.learned_positions=2048"
            )
        return F.embedding(positions, self.weight)

    def of_next(self, positions: Tensor) -> Tensor:
        """[R] of words that are being said -> [R, D]; what is too late to have a position stays at the last."""
        return F.embedding(positions.clamp(max=self.weight.size(0) - 1), self.weight)


def something_to_see(real: Tensor) -> Tensor:
    """[B, S] -> [B, 1, S]: real words may be looked at; where a row has none, all, since a softmax needs something."""
    return (real | ~real.any(dim=1, keepdim=True))[:, None]
