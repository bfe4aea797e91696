"""Is a difference between two systems more than luck? Two tests of it, both sacreBLEU's own.

Paired bootstrap (Koehn, 2004) resamples the test set with replacement and measures how much the difference varies.
Approximate randomisation (Riezler and Maxwell, 2005) swaps the two systems' outputs in random lines and looks how often
the difference gets as large as it really is. A difference counts only where both tests say so.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray
from sacrebleu.metrics.base import Metric as SacreMetric
from sacrebleu.metrics.base import Score as SacreScore
from sacrebleu.metrics.base import Signature
from sacrebleu.significance import PairedTest, Result

from regard.errors import SettingsError
from regard.metrics import Counted

SEED = 12345  # sacreBLEU's
RESAMPLES = 1_000
TRIALS = 10_000
LEVEL = 0.05  # from here on, a difference is put down to chance
_TINY = 1e-9

_Counts = NDArray[np.float64]


class Interval(NamedTuple):
    """Where the score lies in 95 of 100 test sets like this one."""

    low: float
    high: float


class Difference(NamedTuple):
    """How a system differs from the first one in a metric, and how often chance alone would do as much."""

    metric: str
    title: str
    system: str
    baseline: str
    points: float  # the system's score less the first one's
    higher_is_better: bool
    bootstrap: float  # p-values
    randomisation: float

    @property
    def chance(self) -> float:
        """The larger of the two p-values."""
        return max(self.bootstrap, self.randomisation)

    @property
    def significant(self) -> bool:
        """Whether both tests find the difference too large for chance."""
        return self.chance < LEVEL

    @property
    def better(self) -> str | None:
        """The name of the better system, where that is more than chance."""
        if not self.significant:
            return None
        return self.system if (self.points > 0) == self.higher_is_better else self.baseline

    def in_words(self) -> str:
        """The result as a sentence for people."""
        size = f"{abs(self.points):.{1 if abs(self.points) >= 1 else 2}f} points"
        if not self.points:
            return f"{self.system} and {self.baseline} have the same {self.title}."
        if self.better is None:
            return (
                f"{self.system} and {self.baseline} do not differ significantly in {self.title}: their "
                f"difference, {size}, would occur by chance in {_cases(self.chance)}."
            )
        worse = self.baseline if self.better == self.system else self.system
        return (
            f"{self.better} is better than {worse} by {size} of {self.title}; a difference this large would occur "
            f"by chance in {_cases(self.chance)}."
        )


class Tested(NamedTuple):
    """What the tests say about one metric: an interval for every system, a difference for all but the first."""

    intervals: list[Interval]
    differences: list[Difference]


def paired(
    names: Sequence[str],
    counted: Sequence[Counted],
    *,
    seed: int = SEED,
    resamples: int = RESAMPLES,
    trials: int = TRIALS,
) -> Tested:
    """Tests every system against the first, by one metric; the same seed gives the same numbers.

    `counted` holds what the metric counted in the output of each system.
    """
    assert len(names) == len(counted) > 1
    assert len({(one.name, one.signature, len(one.counts)) for one in counted}) == 1
    if seed < 1:
        raise SettingsError(f"seed = {seed}: expected a whole number of at least 1.")
    counts = [np.array(one.counts, dtype=np.float64) for one in counted]
    bootstrap = _run(counted[0], counts, "bs", samples=resamples, seed=seed)
    randomisation = _run(counted[0], counts, "ar", samples=trials, seed=seed)
    scores = [one.score() for one in counted]
    differences = []
    for number in range(1, len(names)):
        same = np.array_equal(counts[0], counts[number])
        differences.append(
            Difference(
                scores[0].metric,
                scores[0].title,
                names[number],
                names[0],
                scores[number].value - scores[0].value,
                scores[0].higher_is_better,
                1.0 if same else _p_value(bootstrap[number]),
                1.0 if same else _p_value(randomisation[number]),
            )
        )
    return Tested([_interval(result) for result in bootstrap], differences)


class _Prepared:
    """A metric in the form in which sacreBLEU's tests use it, for lines that are counted already."""

    def __init__(self, counted: Counted, counts: Sequence[_Counts]) -> None:
        self._counted = counted
        self._counts = counts
        self._first = self._value(counts[0].sum(0))

    def _extract_corpus_statistics(self, counts: _Counts, references: None) -> _Counts:  # noqa: ARG002
        return counts

    def _aggregate_and_compute(self, counts: _Counts) -> SacreScore:
        """The score; that of a whole system is moved towards the first one's by next to nothing.

        SacreBLEU asks how many swaps give a larger difference. Those that give the same must count as well: of systems
        that differ in a single line, every swap gives the same difference, and there is nothing significant about it.
        """
        value = self._value(counts.sum(0))
        if any(counts is whole for whole in self._counts):
            value += max(-_TINY, min(_TINY, self._first - value))
        return SacreScore(self._counted.name, value)

    def _compute_score_from_stats(self, total: _Counts) -> SacreScore:
        return SacreScore(self._counted.name, self._value(total))

    def get_signature(self) -> Signature:
        """A signature that sacreBLEU extends; it is not used here."""
        return Signature({"num_refs": 1})

    def _value(self, total: _Counts) -> float:
        return self._counted.metric.value(total.tolist())


def _run(counted: Counted, counts: Sequence[_Counts], test: str, *, samples: int, seed: int) -> list[Result]:
    metric = cast("SacreMetric", _Prepared(counted, counts))
    systems = cast("list[tuple[str, Sequence[str]]]", [(str(number), each) for number, each in enumerate(counts)])
    with _seeded(seed):
        _, results = PairedTest(systems, {counted.name: metric}, None, test_type=test, n_samples=samples)()
    return cast("list[Result]", cast("dict[str, Any]", results)[counted.name])


@contextmanager
def _seeded(seed: int) -> Iterator[None]:
    """SacreBLEU takes its seed from the environment and from nowhere else."""
    before = os.environ.get("SACREBLEU_SEED")
    os.environ["SACREBLEU_SEED"] = str(seed)
    try:
        yield
    finally:
        if before is None:
            del os.environ["SACREBLEU_SEED"]
        else:
            os.environ["SACREBLEU_SEED"] = before


def _p_value(result: Result) -> float:
    assert result.p_value is not None
    return float(result.p_value)


def _interval(result: Result) -> Interval:
    assert result.mean is not None
    assert result.ci is not None
    return Interval(float(result.mean - result.ci), float(result.mean + result.ci))


def _cases(chance: float) -> str:
    """A probability as people say it: 3 of 100 cases."""
    if chance < 0.001:
        return "fewer than 1 of 1,000 cases"
    if chance < 0.01:
        return f"about {round(chance * 1000)} of 1,000 cases"
    return f"about {round(chance * 100)} of 100 cases"
