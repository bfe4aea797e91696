"""The option `--memory`: sentence pairs in any format, as one translation memory."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from regard.errors import SettingsError

if TYPE_CHECKING:
    from regard.text.memory import Memory


def read(paths: list[Path], languages: Mapping[str, str]) -> Memory | None:
    """The pairs of the files, a later one before an earlier one; None where no file is given."""
    from regard.text import corpus
    from regard.text.memory import Memory
    from regard.text.pairs import Languages

    if not paths:
        return None
    if not languages:
        raise SettingsError(
            "--memory: the model does not name its languages, so Regard cannot read pairs for it.\n"
            "  Use a model that was trained with --source and --target."
        )
    return Memory(corpus.read(list(paths), Languages(languages["source"], languages["target"])))
