"""The character error rate: edits of single characters, for spelling, transliteration, dates."""

from __future__ import annotations

from collections.abc import Sequence

from regard.metrics.edits import EditRate


class CharacterErrorRate(EditRate):
    """Edits of characters, spaces among them."""

    title = "CER"
    about = "How many characters must be changed, added or dropped, for each 100 characters of the reference."
    unit = "character"

    def units(self, text: str) -> Sequence[str]:
        """The characters of the composed form."""
        return text


METRIC = CharacterErrorRate
