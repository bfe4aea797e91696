"""What to expect of training on a corpus, on this machine: what is advised, what it needs, what less time gives."""

from __future__ import annotations

from typing import Any, NamedTuple

from regard.devices import device_for
from regard.text.inspection.statistics import SideStatistics
from regard.text.pairs import Languages
from regard.training.advice import Advice, Budget, advise
from regard.training.machine.estimate import Estimate, estimate, speeds_of

MINUTES = (10, 60, 600)
_VERDICTS = (
    (0.02, "too short to learn to translate"),
    (0.1, "a first impression: common phrases at best"),
    (0.35, "a rough translator, clearly worse than with more time"),
    (0.8, "close to what this corpus allows"),
    (float("inf"), "as good as this corpus allows"),
)


class Within(NamedTuple):
    """What so many minutes give."""

    minutes: int
    preset: str
    steps: int
    epochs: float
    share: float  # of the training that the corpus deserves

    @property
    def verdict(self) -> str:
        """What this is enough for, as far as can be said beforehand."""
        return next(verdict for share, verdict in _VERDICTS if self.share < share)

    def __str__(self) -> str:
        done = f"{self.steps:,} steps, {self.epochs:,.1f} epochs, {100 * self.share:.0f}% of a full training"
        return f"{self.minutes} minutes: a model of size {self.preset}, about {done}: {self.verdict}"

    def table(self) -> dict[str, Any]:
        """For programs."""
        return self._asdict() | {"epochs": round(self.epochs, 2), "share": round(self.share, 3)}


class Outlook(NamedTuple):
    """What is advised, what it needs, and what less time gives."""

    advice: Advice
    needs: Estimate
    within: tuple[Within, ...]


def outlook_for(
    pairs: int, *, source: SideStatistics, target: SideStatistics, languages: Languages | None = None
) -> Outlook:
    """The outlook for a corpus on this machine; its speed is measured."""
    device = device_for(None)
    speeds, fast = speeds_of(device), device.type == "cuda"
    advice = advise(pairs, source=source, target=target, languages=languages, fast=fast)
    within = []
    for minutes in MINUTES:
        budget = Budget(minutes, speeds.tokens_per_second)
        hurried = advise(pairs, source=source, target=target, fast=fast, budget=budget)
        work = hurried.expected_steps * hurried.batch_tokens
        full = hurried.steps * hurried.batch_tokens
        epochs = work / max(1.0, hurried.tokens)
        within.append(Within(minutes, hurried.preset, hurried.expected_steps, epochs, work / full))
    return Outlook(advice, estimate(advice, speeds), tuple(within))
