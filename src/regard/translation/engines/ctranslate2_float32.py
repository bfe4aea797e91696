"""CTranslate2 in float32: the same sentences as from torch, so it is taken by itself where it was seen to agree."""

from __future__ import annotations

from regard.errors import RegardError
from regard.translation.engines.converted import opened
from regard.translation.engines.ctranslate2 import available
from regard.translation.engines.engine import Engine, EngineFile, Loaded


def _open(loaded: Loaded) -> Engine:
    return opened(loaded, compute_type="float32")[0]


def _open_if_it_suits(loaded: Loaded) -> Engine | None:
    """The engine, on a processor where it agrees with ours; an error means that it does not suit."""
    if loaded.device.type != "cpu" or not available():
        return None
    try:
        engine, verdict = opened(loaded, compute_type="float32")
    except (RegardError, OSError):
        return None
    return engine if verdict.agrees else None


ENGINE = EngineFile(open=_open, open_if_it_suits=_open_if_it_suits)
