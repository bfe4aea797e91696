"""BLEU (Papineni et al., 2002): which share of words and of runs of up to four words the reference has too."""

from __future__ import annotations

from sacrebleu.metrics.bleu import BLEU as SacreBLEU  # noqa: N811
from sacrebleu.metrics.bleu import BLEUScore

from regard.metrics.metric import Counts, Options
from regard.metrics.sacre import SacreMetric

_ORDER = 4
_WITHOUT_SPACES = {"zh": "zh", "ja": "char", "th": "char", "lo": "char", "km": "char", "my": "char"}


class BLEU(SacreMetric):
    """SacreBLEU's BLEU; with `tokenised`, that of multi-bleu.perl, which splits nothing and smooths nothing."""

    title = "BLEU"
    about = "How many words and runs of up to four words the translation shares with the reference."
    higher_is_better = True

    def __init__(self, options: Options) -> None:
        language = options.language.lower().replace("_", "-").split("-")[0]
        self._smoothing = "none" if options.tokenised else "exp"
        super().__init__(
            SacreBLEU(
                lowercase=options.lowercase,
                tokenize="none" if options.tokenised else _WITHOUT_SPACES.get(language, "13a"),
                smooth_method=self._smoothing,
                force=True,
            )
        )

    def value(self, total: Counts) -> float:
        """BLEU, from 0 to 100."""
        return float(self._score(total).score)

    def sentence_value(self, counts: Counts) -> float:
        """Smoothed, and over as many orders as the line has, since most lines share no run of four words."""
        return float(self._score(counts, sentence=True).score)

    def details(self, total: Counts) -> dict[str, float]:
        """The parts that BLEU is made of."""
        score = self._score(total)
        precisions = {f"precision_{n}": float(value) for n, value in enumerate(score.precisions, start=1)}
        return precisions | {
            "brevity_penalty": float(score.bp),
            "hypothesis_length": score.sys_len,
            "reference_length": score.ref_len,
        }

    def _score(self, total: Counts, *, sentence: bool = False) -> BLEUScore:
        return SacreBLEU.compute_bleu(
            correct=[int(count) for count in total[2 : 2 + _ORDER]],
            total=[int(count) for count in total[2 + _ORDER :]],
            sys_len=int(total[0]),
            ref_len=int(total[1]),
            smooth_method="exp" if sentence else self._smoothing,
            effective_order=sentence,
        )


METRIC = BLEU
