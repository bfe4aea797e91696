"""The matrix products of a training step and nothing else: what no program can do without, on a CPU.

Forward, and backward for inputs and weights, of every linear map and of the output projection, once for each real
token, and for a few more that make their number a round one, as ours does, since that is faster; in memory that is
there already. Attention's own small products, sums, softmax, normalisation, dropout and Adam are left out. What a
program takes longer than this is what all of that costs it, and padding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import torch
from torch import Tensor, nn

from regard.batches.rows import Batch
from regard.models.fast.blocks import ROUND
from regard.models.transformer import Transformer


class Map(NamedTuple):
    """A linear map: [outputs, inputs], and whether it reads source tokens or target tokens."""

    weight: Tensor
    of_source: bool


def maps(model: Transformer) -> list[Map]:
    """All linear maps of the model, and the output projection."""
    linear = {name: module.weight for name, module in model.named_modules() if isinstance(module, nn.Linear)}
    of_source = ("source_attention.key", "source_attention.value")
    found = [Map(weight, name.startswith("encoder.") or name.endswith(of_source)) for name, weight in linear.items()]
    return [*found, Map(model.output_embedding.weight, of_source=False)]


def step_of(model: Transformer, batches: Iterator[Batch], dtype: torch.dtype) -> Callable[[], int]:
    """What does the products of the next batch, and says how many target tokens it has."""
    rounded = [Map(weight.detach().to(dtype), of_source) for weight, of_source in maps(model)]
    memory: dict[str, Tensor] = {}

    def room(name: str, rows: int, columns: int) -> Tensor:
        if name not in memory or memory[name].numel() < rows * columns:
            memory[name] = torch.randn(rows * columns).to(dtype)
        return memory[name][: rows * columns].view(rows, columns)

    def step() -> int:
        batch = next(batches)
        source, target = (-(-int((side.segments != 0).sum()) // ROUND) * ROUND for side in batch.streams.values())
        for weight, of_source in rounded:
            tokens, (outputs, inputs) = source if of_source else target, weight.shape
            x, gradient = room("x", tokens, inputs), room("gradient", tokens, outputs)
            torch.mm(x, weight.t(), out=room("y", tokens, outputs))
            torch.mm(gradient, weight, out=room("for x", tokens, inputs))
            torch.mm(gradient.t(), x, out=room("for weight", outputs, inputs))
        return batch.tokens

    return step
