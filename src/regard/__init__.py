"""Regard: the Transformer of "Attention Is All You Need" as software.

The public names, nothing else. What is heavy is loaded when it is first used.
"""

from typing import TYPE_CHECKING, Any

from regard.errors import (
    CheckpointError,
    CorpusError,
    LengthError,
    ModelFolderError,
    RegardError,
    SettingsError,
    TextError,
    TrainingError,
)
from regard.version import __version__

if TYPE_CHECKING:
    from regard.training.train import train
    from regard.translation.translator import load

__all__ = [
    "CheckpointError",
    "CorpusError",
    "LengthError",
    "ModelFolderError",
    "RegardError",
    "SettingsError",
    "TextError",
    "TrainingError",
    "__version__",
    "load",
    "train",
]


def __getattr__(name: str) -> Any:
    if name == "train":
        from regard.training.train import train

        return train
    if name == "load":
        from regard.translation.translator import load

        return load
    raise AttributeError(f"module 'regard' has no attribute {name!r}")
