"""TER (Snover et al., 2006): how many edits, moves of whole phrases included, lead from translation to reference."""

from __future__ import annotations

from sacrebleu.metrics.ter import TER as SacreTER  # noqa: N811

from regard.metrics.metric import Counts, Options
from regard.metrics.sacre import SacreMetric


class TER(SacreMetric):
    """SacreBLEU's TER. It splits at spaces and ignores letter case, whatever the options say."""

    title = "TER"
    about = "How many words must be changed, added, dropped or moved, for each 100 words of the reference."
    higher_is_better = False

    def __init__(self, options: Options) -> None:  # noqa: ARG002
        super().__init__(SacreTER())

    def details(self, total: Counts) -> dict[str, float]:
        """The edits and the words that the rate is made of."""
        return {"edits": float(total[0]), "reference_length": float(total[1])}


METRIC = TER
