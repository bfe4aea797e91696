"""The MaskedModel: texts with [MASK] in them filled, and texts as vectors.

model = regard.load("my-model")
model.fill("The [MASK] sat.")[0].text
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import ClassVar, NamedTuple, overload

import torch
from torch import Tensor

from regard.errors import TextError
from regard.family.reading import Reading
from regard.tasks.masked import MASK
from regard.tokens.lines import id_of
from regard.tokens.tokeniser import SPACE


class Filling(NamedTuple):
    """What may stand in the place of one mask."""

    token: str  # as a person sees it
    probability: float
    text: str  # the whole text with this token, and the likeliest in the places of all other masks


class MaskedModel(Reading):
    """A masked model: `fill`, `embed`."""

    task: ClassVar[str] = "masked"

    @overload
    def fill(self, text: str, *, count: int = 5) -> list[list[Filling]]: ...  # type: ignore[overload-overlap]
    @overload
    def fill(self, text: Iterable[str], *, count: int = 5) -> list[list[list[Filling]]]: ...
    def fill(self, text: str | Iterable[str], *, count: int = 5) -> list[list[Filling]] | list[list[list[Filling]]]:
        """For each [MASK] of a text, or of each of several texts, the `count` likeliest tokens, the best first."""
        texts = [text] if isinstance(text, str) else list(text)
        mask = id_of(self.tokeniser, MASK)
        ids = [self._without_loose_spaces(self.lines.encode(each), mask) for each in texts]
        for each, tokens in zip(texts, ids, strict=True):
            if mask not in tokens:
                raise TextError(
                    f"{each[:60]!r}: there is no {MASK} in this text.\n"
                    f"  Write {MASK} where the model should fill in a token."
                )
        found: list[list[list[Filling]]] = [[] for _ in texts]
        for number, logits in self.outputs(ids):
            found[number] = self._fillings(ids[number], logits, mask, count)
        return found[0] if isinstance(text, str) else found

    def _without_loose_spaces(self, ids: Sequence[int], mask: int) -> list[int]:
        """A text's ids without spaces before masks, where words begin with their spaces: one hides with its word."""
        if not self._words_have_spaces:
            return list(ids)
        pieces = zip(self.tokeniser.pieces(ids), [*ids[1:], -1], strict=True)
        return [token for token, (piece, after) in zip(ids, pieces, strict=True) if piece != SPACE or after != mask]

    @cached_property
    def _words_have_spaces(self) -> bool:
        pieces = self.tokeniser.pieces(range(self.tokeniser.size))
        return any(len(piece) > 1 and piece.startswith(SPACE) for piece in pieces)

    def _fillings(self, ids: Sequence[int], logits: Tensor, mask: int, count: int) -> list[list[Filling]]:
        places = [place for place, token in enumerate(ids) if token == mask]
        logits = logits[places].clone()
        logits[:, [mask, self.tokeniser.begin, self.tokeniser.end]] = -torch.inf
        shares, tokens = logits.softmax(-1).topk(min(count, logits.size(-1)))
        filled = list(ids)
        for place, best in zip(places, tokens[:, 0].tolist(), strict=True):
            filled[place] = best
        found = []
        for place, row, probabilities in zip(places, tokens.tolist(), shares.tolist(), strict=True):
            options = []
            for token, probability in zip(row, probabilities, strict=True):
                text = self.lines.decode([*filled[:place], token, *filled[place + 1 :]])
                options.append(Filling(self.tokeniser.pieces([token])[0], probability, text))
            found.append(options)
        return found
