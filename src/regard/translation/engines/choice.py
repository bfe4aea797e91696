"""Which engine searches for a Translator: the one that was asked for, or the best that is sure to give the same.

torch                   our own model and search, on any device; defines what is right
ctranslate2             CTranslate2 in int8: the fastest on processors, and a few sentences come out otherwise
ctranslate2-float32     CTranslate2 in float32: the same sentences as torch
auto                    ctranslate2-float32 on a processor, where it is installed and was seen to agree; else torch
"""

from __future__ import annotations

import torch

from regard.errors import RegardError, SettingsError
from regard.modelfolder import ModelFolder
from regard.settings import nearest
from regard.tokens import Tokenisers
from regard.translation.engines.engine import Engine

NAMES = ("auto", "torch", "ctranslate2", "ctranslate2-float32")
_COMPUTE_TYPES = {"ctranslate2": "int8", "ctranslate2-float32": "float32"}


def choose(name: str, loaded: ModelFolder, tokenisers: Tokenisers, *, ours: Engine, device: torch.device) -> Engine:
    """The engine of this name for a model that was read. `ours` is the torch engine with the same model."""
    if name not in NAMES:
        raise SettingsError(f"engine = {name!r}: there is no such engine; {nearest(name, NAMES)}")
    if name == "torch":
        return ours
    if name == "auto":
        return _verified(loaded, tokenisers, ours=ours, device=device)
    if device.type != "cpu":
        raise SettingsError(
            f"engine = {name!r} runs on processors, and the device is {device}.\n"
            "  Use device = 'cpu', or engine = 'torch'."
        )
    from regard.translation.engines.converted import build

    return build(loaded, tokenisers, fallback=ours, compute_type=_COMPUTE_TYPES[name])[0]


def _verified(loaded: ModelFolder, tokenisers: Tokenisers, *, ours: Engine, device: torch.device) -> Engine:
    """CTranslate2 in float32, unless anything speaks against it; nobody asked for it, so nothing is an error."""
    from regard.translation.engines.converted import build
    from regard.translation.engines.ctranslate2 import available

    if device.type != "cpu" or not available():
        return ours
    try:
        engine, verdict = build(loaded, tokenisers, fallback=ours, compute_type="float32")
    except (RegardError, OSError):
        return ours
    return engine if verdict.agrees else ours
