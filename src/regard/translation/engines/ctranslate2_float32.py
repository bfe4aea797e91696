"""CTranslate2 in float32: the same sentences as from torch, so it is taken by itself where it was seen to agree."""

from __future__ import annotations

from regard.errors import RegardError
from regard.translation.engines.converted import opened
from regard.translation.engines.ctranslate2 import available
from regard.translation.engines.engine import Engine, EngineFile, Loaded


def _open(loaded: Loaded) -> Engine:
    return opened(loaded, compute_type="float32")[0]


def _suits(loaded: Loaded) -> int:
    """More than torch on a processor where it agrees; nobody asked for it, so nothing is an error."""
    if loaded.device.type != "cpu" or not available():
        return 0
    try:
        return 2 if opened(loaded, compute_type="float32")[1].agrees else 0
    except (RegardError, OSError):
        return 0


ENGINE = EngineFile(suits=_suits, open=_open)
