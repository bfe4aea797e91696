"""How likely a translation is good: the model's own probability, calibrated on validation.

A model is more sure of itself than it should be, and each in its own way. A calibration is fitted on validation pairs:
it maps the mean log-probability of the tokens of a translation to the share of good translations among those that look
alike. A translation counts as good if its chrF with the reference is at least `GOOD`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

GOOD = 60.0  # chrF of a single sentence
KEY = "confidence"  # of the calibration in the training table of a model folder
_ROUNDS = 50
_CAUTION = 1e-3  # keeps the fit finite where all are good, or none


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """The probability of a good translation is sigmoid(slope * mean log-probability + offset)."""

    slope: float
    offset: float
    pairs: int = 0  # that it was fitted on; 0: not fitted, so the confidence is the mean probability of a token

    def confidence(self, likelihood: float) -> float:
        """The confidence in a translation whose tokens have this mean log-probability."""
        if not self.pairs:
            return math.exp(min(0.0, likelihood))
        return 1 / (1 + math.exp(-max(-30.0, min(30.0, self.slope * likelihood + self.offset))))

    def table(self) -> dict[str, Any]:
        """As a model folder stores it."""
        return {"slope": self.slope, "offset": self.offset, "pairs": self.pairs, "good": f"chrF >= {GOOD:g}"}


UNCALIBRATED = Calibration(slope=1.0, offset=0.0)


def read_calibration(training: Mapping[str, Any]) -> Calibration:
    """The calibration that a model folder has; folders of older versions have none."""
    table = training.get(KEY)
    if not isinstance(table, Mapping):
        return UNCALIBRATED
    return Calibration(slope=float(table["slope"]), offset=float(table["offset"]), pairs=int(table["pairs"]))


def fit(likelihoods: Sequence[float], good: Sequence[bool]) -> Calibration:
    """The calibration by logistic regression: Newton's method on two numbers."""
    slope, offset = 1.0, 0.0
    for _ in range(_ROUNDS):
        gradient, curvature = [_CAUTION * slope, _CAUTION * offset], [_CAUTION, 0.0, _CAUTION]
        for likelihood, is_good in zip(likelihoods, good, strict=True):
            expected = 1 / (1 + math.exp(-max(-30.0, min(30.0, slope * likelihood + offset))))
            error, weight = expected - is_good, expected * (1 - expected)
            gradient = [gradient[0] + error * likelihood, gradient[1] + error]
            curvature = [
                curvature[0] + weight * likelihood**2,
                curvature[1] + weight * likelihood,
                curvature[2] + weight,
            ]
        determinant = curvature[0] * curvature[2] - curvature[1] ** 2
        if determinant <= 0:
            break
        slope -= (curvature[2] * gradient[0] - curvature[1] * gradient[1]) / determinant
        offset -= (curvature[0] * gradient[1] - curvature[1] * gradient[0]) / determinant
    return Calibration(slope=slope, offset=offset, pairs=len(likelihoods))
