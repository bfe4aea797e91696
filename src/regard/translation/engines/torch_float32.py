"""The engine `torch` in float32 on GPUs, too: slower there, and the translations are those of a CPU."""

from __future__ import annotations

from regard.translation.engines.engine import EngineFile, Loaded
from regard.translation.engines.torch import TorchEngine, together


class TorchFloat32Engine(TorchEngine):
    """The models as they are loaded."""

    name = "torch-float32"


def _open(loaded: Loaded) -> TorchFloat32Engine:
    return TorchFloat32Engine(together(loaded.models), loaded.tokenisers, device=loaded.device, lock=loaded.lock)


ENGINE = EngineFile(open=_open)
