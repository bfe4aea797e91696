"""TER (Snover et al., 2006): how many edits, moves of whole phrases included, lead from translation to reference."""

from __future__ import annotations

from typing import Any

from sacrebleu.metrics.lib_ter import translation_edit_rate
from sacrebleu.metrics.ter import TER as SacreTER  # noqa: N811

from regard.metrics.metric import Counts, Options
from regard.metrics.sacre import SacreMetric
from regard.metrics.shifts import edits


class TER(SacreMetric):
    """SacreBLEU's TER. It splits at spaces and ignores letter case, whatever the options say."""

    title = "TER"
    about = "How many words must be changed, added, dropped or moved, for each 100 words of the reference."
    higher_is_better = False

    def __init__(self, options: Options) -> None:  # noqa: ARG002
        super().__init__(_SameSooner())

    def details(self, total: Counts) -> dict[str, float]:
        """The edits and the words that the rate is made of."""
        return {"edits": float(total[0]), "reference_length": float(total[1])}


class _SameSooner(SacreTER):
    """SacreBLEU's TER, whose counts of a line are found faster (`shifts.py`), or by sacreBLEU where only it can."""

    def _compute_segment_statistics(self, hypothesis: str, ref_kwargs: dict[str, Any]) -> list[float]:
        words, references = hypothesis.split(), ref_kwargs["ref_words"]
        return [
            min(_edits(words, reference) for reference in references),
            sum(map(len, references)) / len(references),
        ]


def _edits(words: list[str], reference: list[str]) -> int:
    found = edits(words, reference)
    return translation_edit_rate(words, reference)[0] if found is None else found


METRIC = TER
