"""Regard: the Transformer of "Attention Is All You Need" as software.

The public names, nothing else. What is heavy is loaded when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from regard.errors import (
    CheckpointError,
    CorpusError,
    LengthError,
    ModelFolderError,
    RegardError,
    SettingsError,
    TextError,
    TrainingError,
    TranslatorError,
)
from regard.version import __version__

if TYPE_CHECKING:
    from regard.family.language_model import LanguageModel
    from regard.family.opening import load
    from regard.insight.attention import Attention
    from regard.search.search_settings import SearchSettings
    from regard.training.train import train
    from regard.translation.translation import Alternative, Scored, Translation
    from regard.translation.translator import Translator

__all__ = [
    "Alternative",
    "Attention",
    "CheckpointError",
    "CorpusError",
    "LanguageModel",
    "LengthError",
    "ModelFolderError",
    "RegardError",
    "Scored",
    "SearchSettings",
    "SettingsError",
    "TextError",
    "TrainingError",
    "Translation",
    "Translator",
    "TranslatorError",
    "__version__",
    "load",
    "train",
]

_LATER = {
    "Alternative": "regard.translation.translation",
    "Attention": "regard.insight.attention",
    "LanguageModel": "regard.family.language_model",
    "Scored": "regard.translation.translation",
    "SearchSettings": "regard.search.search_settings",
    "Translation": "regard.translation.translation",
    "Translator": "regard.translation.translator",
    "load": "regard.family.opening",
    "train": "regard.training.train",
}

if not TYPE_CHECKING:  # a type checker would take every name for one of ours

    def __getattr__(name: str) -> object:
        if name not in _LATER:
            raise AttributeError(f"module 'regard' has no attribute {name!r}")
        return getattr(import_module(_LATER[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
