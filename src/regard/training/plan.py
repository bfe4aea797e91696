"""A schedule that differs from that of the settings: planned for the time that there is, or to end an overfitted run.

It is part of a run's progress, so a run that is resumed keeps it.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from regard.settings import Settings
from regard.training.training_settings import TrainingSettings

_COOLDOWN = 0.3  # where the settings have none: a schedule that is cut short still ends at a rate of zero
_MARGIN = 0.97  # of the time is planned with
_WARMUP_SHARE = 0.2


class Plan(Settings):
    """The last step, and over how many the rate falls to zero."""

    instead_of: int  # the steps of the settings: when they change, the plan is void
    steps: int
    cooling: int
    warmup: int
    why: Literal["minutes", "overfitting"]


class Course(NamedTuple):
    """The schedule of a run: that of the settings, or of the plan that replaces it unless they have changed since."""

    settings: TrainingSettings
    stored: Plan | None

    @property
    def plan(self) -> Plan | None:
        """The plan, if it counts."""
        return self.stored if self.stored and self.stored.instead_of == self.settings.steps else None

    @property
    def steps(self) -> int:
        """The last step."""
        return self.plan.steps if self.plan else self.settings.steps

    @property
    def warmup(self) -> int:
        """The steps in which the rate rises."""
        return self.plan.warmup if self.plan else self.settings.warmup

    def cools(self, step: int) -> bool:
        """Whether the rate has begun to fall to zero."""
        cooling = self.plan.cooling if self.plan else self.settings.cooldown * self.settings.steps
        return step >= self.steps - cooling

    @property
    def is_fixed(self) -> bool:
        """Whether the speed of the machine no longer matters."""
        return self.settings.minutes is None or bool(self.plan and self.plan.why == "overfitting")


def for_minutes(settings: TrainingSettings, *, step: int, seconds: float, per_step: float) -> Plan | None:
    """The plan after so many steps and seconds where a step takes so long; None where the time is enough for all."""
    assert settings.minutes is not None
    left = max(0.0, 60 * settings.minutes * _MARGIN - seconds)
    steps = step + max(1, int(left / max(per_step, 1e-9)))
    if steps >= settings.steps:
        return None
    return Plan(
        instead_of=settings.steps,
        steps=steps,
        cooling=round((settings.cooldown or _COOLDOWN) * steps),
        warmup=min(settings.warmup, max(1, int(_WARMUP_SHARE * steps))),
        why="minutes",
    )


def after_overfitting(settings: TrainingSettings, before: Plan | None, *, best: int, at_least: int) -> Plan:
    """From the best step on, the rate falls to zero: from what it was there, also in the midst of the warm-up."""
    cooling = max(at_least, round(settings.cooldown * best))
    warmup = before.warmup if before else settings.warmup
    return Plan(instead_of=settings.steps, steps=best + cooling, cooling=cooling, warmup=warmup, why="overfitting")
