"""Which validation is the best so far, and whether a run still gets better.

On a small corpus the decoder overfits as a language model long before it has learned to translate: the validation loss
rises while translations still become better. What the source is worth leaves this out, since a language model that
overfits loses as much with the right source as with another one. So where a run stops early, the best weights are those
whose source is worth most. docs/defaults.md has the curves.
"""

from __future__ import annotations

from typing import NamedTuple

from regard.training.checkpoints import Progress
from regard.training.events import Validated
from regard.training.source_use import NEARLY_NOTHING

_CLEARLY = 1.01  # times as much: a smaller gain in worth does not keep a run going


class Merit(NamedTuple):
    """What a validation says about the weights."""

    best: bool  # they are the best so far
    learning: bool  # the run still gets better


def merit(told: Validated, progress: Progress, *, by_worth: bool) -> Merit:
    """By the loss, or by what the source is worth as soon as it is worth something."""
    lower = progress.best_loss is None or told.loss < progress.best_loss
    if not by_worth or told.source_worth is None:
        return Merit(lower, lower)
    worth, most = told.source_worth, progress.best_worth or 0.0
    best = worth > most if max(worth, most) >= NEARLY_NOTHING else lower
    return Merit(best, lower or worth > _CLEARLY * most)
