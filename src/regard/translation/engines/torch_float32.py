"""The engine `torch` in float32 on GPUs, too: slower there, and the translations are those of a CPU."""

from __future__ import annotations

import torch

from regard.translation.engines.engine import EngineFile, Loaded
from regard.translation.engines.torch import TorchEngine, together


class TorchFloat32Engine(TorchEngine):
    """The models as they are loaded."""

    name = "torch-float32"


def _open(loaded: Loaded) -> TorchFloat32Engine:
    device = torch.device(str(loaded.device))
    return TorchFloat32Engine(together(loaded.models), loaded.tokenisers, device=device, lock=loaded.lock)


ENGINE = EngineFile(open=_open)
