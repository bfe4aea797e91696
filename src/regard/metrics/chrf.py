"""chrF (Popović, 2015): which share of the runs of up to six characters translation and reference have in common."""

from __future__ import annotations

from sacrebleu.metrics.chrf import CHRF

from regard.metrics.metric import Options
from regard.metrics.sacre import SacreMetric


class ChrF(SacreMetric):
    """SacreBLEU's chrF2. Text need not be split into words, so `tokenised` changes nothing."""

    title = "chrF"
    about = "How many runs of up to six characters the translation shares with the reference; kinder to word forms."
    higher_is_better = True

    def __init__(self, options: Options) -> None:
        super().__init__(CHRF(lowercase=options.lowercase))


METRIC = ChrF
