"""Given translations, read by the model all at once: how likely they are, and what it attended to.

Shapes: B pairs, T target positions, S source positions, V vocabulary, H heads.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from regard.batches.rows import Batch
from regard.batches.similar_lengths import by_length
from regard.errors import SettingsError
from regard.models.parts.observation import watch
from regard.models.protocols import AttentionName, Model, Observable
from regard.search import combine
from regard.tasks.translation import batch_of
from regard.translation.engines import Loaded

Pair = tuple[Sequence[int], Sequence[int]]  # the ids of a source and of its target, without their ends

_BATCH_TOKENS = {"cpu": 2048, "cuda": 16384}  # of the longer side, padding included
_BATCH_LOGITS = {"cpu": 2**24, "cuda": 2**27}


class Forced:
    """One model or several, which read given translations. Any number of threads may use them."""

    def __init__(self, loaded: Loaded) -> None:
        self._models, self._lock = loaded.models, loaded.lock
        self._tokenisers, self._device = loaded.tokenisers, torch.device(str(loaded.device))

    @torch.no_grad()
    def logprobs(self, pairs: Sequence[Pair]) -> list[list[float]]:
        """For each pair, the log-probability of each token of the target and of its end."""
        found: dict[int, list[float]] = {}
        for numbers in _batches(pairs, self._batch_size()):
            with self._lock:
                batch = self._batch([pairs[number] for number in numbers])
                logits = [model(batch) for model in self._models]
                together = logits[0] if len(logits) == 1 else combine(logits)
                said = together.log_softmax(-1).gather(2, batch.labels[:, :, None])[:, :, 0].tolist()
            found |= {n: row[: len(pairs[n][1]) + 1] for n, row in zip(numbers, said, strict=True)}
        return [found[number] for number in range(len(pairs))]

    @torch.no_grad()
    def attention(self, pairs: Sequence[Pair]) -> list[Tensor]:
        """For each pair, how much each position of the decoder looked at each token of the source: [T + 1, S + 1].

        Position t reads token t - 1 and says token t; the last says the end, and the last token of the source is its
        end. It is the mean over the heads of some layers (`aligning`), and over the members of an ensemble.
        """
        found: dict[int, Tensor] = {}
        for numbers in _batches(pairs, _BATCH_TOKENS["cpu"]):
            with self._lock:  # observers belong to the model, so another thread would be observed as well
                batch = self._batch([pairs[number] for number in numbers])
                weights = torch.stack([_seen(model, batch) for model in self._models]).mean(0).cpu()
            for row, number in enumerate(numbers):
                source, target = pairs[number]
                found[number] = weights[row, : len(target) + 1, : len(source) + 1]
        return [found[number] for number in range(len(pairs))]

    def _batch_size(self) -> int:
        """How many tokens are scored together: a GPU is busy only with many."""
        kind = "cuda" if self._device.type == "cuda" else "cpu"
        return min(_BATCH_TOKENS[kind], max(1, _BATCH_LOGITS[kind] // self._tokenisers.target.size))

    def _batch(self, pairs: Sequence[Pair]) -> Batch:
        source, target = self._tokenisers.source, self._tokenisers.target
        rows = [[pair] for pair in pairs]
        return batch_of(rows, begin=target.begin, end=target.end, source_end=source.end).to(self._device)


class _Some:
    """Some of a model's attentions, which are watched alone."""

    def __init__(self, chosen: Mapping[AttentionName, Observable]) -> None:
        self._chosen = chosen

    def attentions(self) -> Mapping[AttentionName, Observable]:
        return self._chosen


def aligning(model: Model[Any, Any]) -> dict[AttentionName, Observable]:
    """The attentions over the source that show best what was translated: the last third of the decoder's.

    benchmarks/alignment.py compares them.
    """
    over_source = {name: attention for name, attention in model.attentions().items() if name.kind == "decoder-source"}
    if not over_source:
        raise SettingsError(
            "alignment: this model has no attention over the source, so Regard cannot align words.\n"
            "  Translate without alignment, or use a model with attention, such as a Transformer."
        )
    return {name: over_source[name] for name in sorted(over_source)[-max(1, len(over_source) // 3) :]}


def _seen(model: Model[Any, Any], batch: Batch) -> Tensor:
    """[B, T, S] the mean over the layers and their heads."""
    with watch(_Some(aligning(model))) as seen:
        model.states(batch)
    return torch.stack([lookups[-1].weights.mean(1) for lookups in seen.values()]).mean(0)


def _batches(pairs: Sequence[Pair], tokens: int) -> Iterator[list[int]]:
    return by_length([max(len(source), len(target)) + 1 for source, target in pairs], tokens=tokens)
