"""Text that is already split into tokens: pieces that a mark joins are put together before scoring.

The literature counts words and not pieces: `transl@@ ation` is one word, however a model came to write it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_MARK = re.compile(r"@@( |$)")


def joined(texts: Sequence[str]) -> list[str]:
    """Each text with its pieces put together."""
    return [_MARK.sub("", text) for text in texts]


def joined_references(references: Sequence[Sequence[str]]) -> list[list[str]]:
    """The same for the references of each line."""
    return [joined(line) for line in references]
