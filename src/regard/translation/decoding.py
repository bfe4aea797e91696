"""Texts through a model: encoded, searched in batches of similar length, in the order in which they came.

Shapes: N sentences a batch, each with as many hypotheses as the search is wide.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch

from regard.batches.rows import rows_of
from regard.models.verbs import Model
from regard.search import Request, Result, SearchSettings, build, decode
from regard.tokens import Tokenisers

_BATCH_TOKENS = 4096  # source tokens, padding included, for all hypotheses together


@torch.no_grad()
def search_texts(
    model: Model[Any, Any],
    tokenisers: Tokenisers,
    texts: Sequence[str],
    settings: SearchSettings,
    *,
    device: torch.device,
    batch_tokens: int = _BATCH_TOKENS,
) -> list[Result]:
    """What the search finds for each text. The model is to be on the device, without dropout."""
    ids = [tokenisers.source.encode(text) for text in texts]
    found: dict[int, Result] = {}
    search = build(settings, begin=tokenisers.target.begin, end=tokenisers.target.end, device=device)
    for numbers in _batches([len(sentence) + 1 for sentence in ids], batch_tokens // search.width):
        rows = rows_of([[[*ids[number], tokenisers.source.end]] for number in numbers]).to(device)
        state = model.start(model.encode(rows), width=search.width)
        requests = [Request(source_length=len(ids[number]), number=number) for number in numbers]
        found |= zip(numbers, decode(model.step, state, requests, search), strict=True)
    return [found[number] for number in range(len(texts))]


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
