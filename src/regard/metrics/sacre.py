"""Metrics of sacreBLEU. This file and `ter.py` know its inside: it has no public way to get the counts of each line."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from sacrebleu.metrics.base import Metric as SacreBLEU

from regard.metrics.metric import Counts, References, number_of_references


class SacreMetric:
    """A metric that sacreBLEU computes."""

    def __init__(self, sacre: SacreBLEU) -> None:
        self._sacre = sacre

    def counts(self, hypotheses: Sequence[str], references: References) -> list[Counts]:
        """SacreBLEU's own counts of each line."""
        documents = list(zip_longest(*references))  # sacreBLEU wants them the other way round, None where one has fewer
        counts: list[Counts] = self._sacre._extract_corpus_statistics(hypotheses, documents)  # noqa: SLF001
        return counts

    def value(self, total: Counts) -> float:
        """SacreBLEU's score."""
        return float(self._sacre._compute_score_from_stats(list(total)).score)  # noqa: SLF001

    def sentence_value(self, counts: Counts) -> float:
        """SacreBLEU's score of the line alone."""
        return self.value(counts)

    def details(self, total: Counts) -> dict[str, float]:  # noqa: ARG002
        """Nothing more."""
        return {}

    def signature(self, references: References) -> str:
        """SacreBLEU's signature."""
        self._sacre.num_refs = number_of_references(references) or -1
        return str(self._sacre.get_signature())
