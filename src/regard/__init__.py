"""Regard: the Transformer of "Attention Is All You Need" as software.

The public names, nothing else.
"""

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

__version__ = "0.1.0"

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
]
