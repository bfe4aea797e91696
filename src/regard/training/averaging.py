"""The mean of the last few checkpoints (section 6.1), a file at a time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor


def mean_of(files: Sequence[Path]) -> dict[str, Tensor]:
    """The mean of the weights in these files, summed in float64."""
    assert files
    total: dict[str, Tensor] = {}
    for file in files:
        for name, weight in load_file(file).items():
            total[name] = total[name].add_(weight) if name in total else weight.to(torch.float64, copy=True)
    return {name: (weight / len(files)).float() for name, weight in total.items()}
