"""Regard: the Transformer of "Attention Is All You Need" as software.

The public names, nothing else.
"""

from regard.errors import CorpusError, ModelFolderError, RegardError, SettingsError

__version__ = "0.1.0"

__all__ = ["CorpusError", "ModelFolderError", "RegardError", "SettingsError", "__version__"]
