"""The rate of section 5.3: it rises over the warm-up, then falls with the inverse square root of the step."""

from __future__ import annotations

from regard.training.plan import Plan
from regard.training.training_settings import TrainingSettings


def rate(step: int, settings: TrainingSettings, *, d_model: int, plan: Plan | None = None) -> float:
    """The rate at `step`, from 1: d_model^-0.5 min(step^-0.5, step warmup^-1.5) unless the settings say otherwise.

    `peak_rate` sets the rate at the end of the warm-up; `schedule = "constant"` stays there. Over the last share
    `cooldown` of all steps the rate falls to zero in a straight line. A `plan` has its own number of steps.
    """
    assert step >= 1
    peak = settings.peak_rate or (d_model * settings.warmup) ** -0.5
    warmup = plan.warmup if plan else settings.warmup
    rising = step / warmup
    after = 1.0 if settings.schedule == "constant" else (warmup / step) ** 0.5
    return peak * min(rising, after) * _cooling(step, settings, plan)


def _cooling(step: int, settings: TrainingSettings, plan: Plan | None) -> float:
    steps, last = (plan.steps, plan.cooling) if plan else (settings.steps, settings.cooldown * settings.steps)
    left = steps - step
    return 1.0 if left >= last else max(0.0, left / last)
