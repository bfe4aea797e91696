"""The matrix products of a training step and nothing else: what no program can do without, on a CPU.

Forward, and backward for inputs and weights, of every linear map and of the output projection, once for each real
token, in memory that is there already. Attention's own small products, sums, softmax, normalisation, dropout and Adam
are left out. What a program takes longer than this is what all of that costs it, and padding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from regard.batches.rows import Batch
from regard.models.transformer import TransformerSettings


class Map(NamedTuple):
    """A linear map, how many of the model's are like it, and whether it reads source tokens or target tokens."""

    inputs: int
    outputs: int
    count: int
    of_source: bool


def maps(settings: TransformerSettings) -> list[Map]:
    """All linear maps of the model."""
    encoder, decoder, width, inner = (
        settings.encoder_layers, settings.decoder_layers, settings.d_model, settings.d_ff,
    )  # fmt: skip
    keys, values = settings.heads * settings.d_k, settings.heads * settings.d_v
    found = [Map(width, settings.target_vocabulary, 1, of_source=False)]
    for of_source, layers, sub_layers in ((True, encoder, 1), (False, decoder, 2)):
        found += [
            Map(width, keys, layers * sub_layers, of_source),  # queries
            Map(values, width, layers * sub_layers, of_source),  # W^O
            Map(width, keys, layers, of_source),
            Map(width, values, layers, of_source),
            Map(width, inner, layers, of_source),
            Map(inner, width, layers, of_source),
        ]
    return [*found, Map(width, keys, decoder, of_source=True), Map(width, values, decoder, of_source=True)]


def step_of(settings: TransformerSettings, batches: Iterator[Batch], dtype: torch.dtype) -> Callable[[], int]:
    """What does the products of the next batch, and says how many target tokens it has."""
    all_maps = maps(settings)
    weights = {(each.inputs, each.outputs): torch.randn(each.outputs, each.inputs).to(dtype) for each in all_maps}
    memory: dict[str, Tensor] = {}

    def room(name: str, rows: int, columns: int) -> Tensor:
        if name not in memory or memory[name].numel() < rows * columns:
            memory[name] = torch.randn(rows * columns).to(dtype)
        return memory[name][: rows * columns].view(rows, columns)

    def step() -> int:
        batch = next(batches)
        source, target = int((batch.source.segments != 0).sum()), batch.tokens
        for inputs, outputs, count, of_source in all_maps:
            tokens, weight = source if of_source else target, weights[inputs, outputs]
            x, gradient = room("x", tokens, inputs), room("gradient", tokens, outputs)
            for _ in range(count):
                torch.mm(x, weight.t(), out=room("y", tokens, outputs))
                torch.mm(gradient, weight, out=room("for x", tokens, inputs))
                torch.mm(gradient.t(), x, out=room("for weight", outputs, inputs))
        return target

    return step
