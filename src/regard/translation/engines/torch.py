"""The engine that runs our own models: encoded once, searched in batches of similar length.

Shapes: N sentences a batch, each with as many hypotheses as the search is wide.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch

from regard.batches.rows import rows_of
from regard.search import Request, Result, SearchSettings, build, decode
from regard.tokens import Tokenisers
from regard.translation.engines.engine import Decoding, EngineFile, Loaded, plain_requests
from regard.translation.engines.ensemble import Ensemble

_BATCH_TOKENS = 4096  # source tokens, padding included, for all hypotheses together


class TorchEngine:
    """A model on a device, without dropout, and the ids that begin and end its sentences."""

    name = "torch"

    def __init__(self, model: Decoding, tokenisers: Tokenisers, *, device: torch.device) -> None:
        self.model, self.tokenisers, self.device = model, tokenisers, device

    @torch.no_grad()
    def search(
        self, sentences: Sequence[Sequence[int]], settings: SearchSettings, *, requests: Sequence[Request] | None = None
    ) -> list[Result]:
        """What is found for each sentence, in order."""
        asked = plain_requests(sentences) if requests is None else requests
        found: dict[int, Result] = {}
        search = build(settings, begin=self.tokenisers.target.begin, end=self.tokenisers.target.end, device=self.device)
        for numbers in _batches([len(sentence) + 1 for sentence in sentences], _BATCH_TOKENS // search.width):
            rows = rows_of([[[*sentences[number], self.tokenisers.source.end]] for number in numbers]).to(self.device)
            state = self.model.start(self.model.encode(rows), width=search.width)
            results = decode(self.model.step, state, [asked[number] for number in numbers], search)
            found |= zip(numbers, results, strict=True)
        return [found[number] for number in range(len(sentences))]


def _batches(lengths: Sequence[int], tokens: int) -> Iterator[list[int]]:
    """The numbers of sentences of similar length, so many tokens together, the longest first."""
    batch: list[int] = []
    for number in sorted(range(len(lengths)), key=lambda n: -lengths[n]):
        if batch and (len(batch) + 1) * lengths[batch[0]] > tokens:
            yield batch
            batch = []
        batch.append(number)
    if batch:
        yield batch


def _open(loaded: Loaded) -> TorchEngine:
    models = [member.model for member in loaded.members]
    model: Decoding = models[0] if len(models) == 1 else Ensemble(models)
    return TorchEngine(model, loaded.tokenisers, device=loaded.device)


ENGINE = EngineFile(suits=lambda _: 1, open=_open)
