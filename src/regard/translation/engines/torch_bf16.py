"""The engine `torch` in bf16: for GPUs, where it is several times as fast; some sentences come out otherwise."""

from __future__ import annotations

from copy import deepcopy
from typing import Any, cast

import torch

from regard.translation.engines.engine import EngineFile, Loaded
from regard.translation.engines.torch import TorchEngine, together


class TorchBF16Engine(TorchEngine):
    """Copies of the models with all weights rounded to bf16; the Translator keeps its own for scores and attention."""

    name = "torch-bf16"


def _open(loaded: Loaded) -> TorchBF16Engine:
    rounded = [deepcopy(cast("Any", member.model)).to(torch.bfloat16) for member in loaded.members]
    return TorchBF16Engine(together(rounded), loaded.tokenisers, device=loaded.device, lock=loaded.lock)


ENGINE = EngineFile(open=_open)
