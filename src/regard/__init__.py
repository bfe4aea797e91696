"""Regard: the Transformer of "Attention Is All You Need" as software.

The public names, nothing else.
"""

from regard.errors import CorpusError, LengthError, ModelFolderError, RegardError, SettingsError, TextError

__version__ = "0.1.0"

__all__ = ["CorpusError", "LengthError", "ModelFolderError", "RegardError", "SettingsError", "TextError", "__version__"]
