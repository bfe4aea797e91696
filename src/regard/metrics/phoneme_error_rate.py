"""The phoneme error rate: edits of single phonemes, or whatever else spaces stand between."""

from __future__ import annotations

from collections.abc import Sequence

from regard.metrics.edits import EditRate


class PhonemeErrorRate(EditRate):
    """Edits of tokens between spaces."""

    title = "PER"
    about = "How many phonemes must be changed, added or dropped, for each 100 phonemes of the reference."
    unit = "token"

    def units(self, text: str) -> Sequence[str]:
        """What stands between spaces."""
        return text.split()


METRIC = PhonemeErrorRate
