"""Whether a model uses its source: a decoder can become a language model that never looks at it.

Then the validation loss goes flat, the text is fluent, and nothing is translated. The source's worth shows it: the loss
with sources exchanged between sentences, minus the loss (`validation.py`).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from regard.presets import Tables
from regard.training.recipe import Recipe

NEARLY_NOTHING = 0.1  # nats a token; a translator reaches one or more
REMEMBERED = 4  # validation losses that tell whether the loss has gone flat
_FLAT = 0.01  # the loss has fallen by less than this share over the last validations
_LATE = 0.5  # share of the run, after which a source that is worth nothing is reported even if the loss still falls
TOO_FEW = 300  # steps; a shorter run ends before a model can learn to use its source, with any settings
_SLOWER, _WARMER, _CLIP = 0.4, 2, 1.0
_LESS_DROPOUT, _LEAST_DROPOUT = 0.1, 0.1

_REASONS = (
    "Usual reasons: the learning rate is too high, the model is post-norm, the vocabulary is too large for the corpus, "
    "or the sides do not belong together (regard check finds swapped and shifted lines)."
)


def is_ignored(losses: Sequence[float], worth: float | None, *, step: int, steps: int, warmup: int) -> bool:
    """Whether the source is worth nearly nothing although the loss has gone flat, or half of the run is over.

    `losses` are the last validation losses, this one included. A run that is too short has another reason.
    """
    if worth is None or worth >= NEARLY_NOTHING or step < min(warmup, steps) or steps < TOO_FEW:
        return False
    flat = len(losses) >= REMEMBERED and losses[-REMEMBERED] - min(losses[1 - REMEMBERED :]) < _FLAT * losses[-1]
    return flat or step >= _LATE * steps


def message(step: int, loss: float, worth: float) -> str:
    """What to tell a person then."""
    return (
        f"Step {step:,}: the validation loss is {loss:.2f} and hardly falls, but the source is worth only {worth:.2f} "
        "nats a token. The model ignores its source: it continues fluent text and does not translate.\n"
        f"  {_REASONS}"
    )


def ending(worth: float | None, *, steps: int) -> str | None:
    """What to tell at the end about a model that ignores its source, after so many steps."""
    if worth is None or worth >= NEARLY_NOTHING:
        return None
    warning = f"Warning: this model does not translate: its source is worth only {worth:.2f} nats a token.\n"
    if steps < TOO_FEW:
        return f"{warning}  {steps:,} steps are too few to learn to translate. Train longer: more --minutes or --steps."
    advice = "Try: --set model.norm=pre --set training.peak_rate=0.0005 --set training.gradient_clip=1.0"
    return f"{warning}  {_REASONS}\n  {advice}"


def safer(recipe: Recipe, given: Collection[str]) -> Tables:
    """Settings with which a model is more likely to learn to use its source; `given` ones (table.key) stay."""
    training, model = recipe.training, recipe.model
    width = float(model.get("d_model", 512))
    peak = training.peak_rate or (width * training.warmup) ** -0.5
    changes: Tables = {
        "model": {"norm": "pre", "dropout": _less_dropout(float(model.get("dropout", 0.1)))},
        "training": {
            "peak_rate": peak * _SLOWER,
            "warmup": min(training.warmup * _WARMER, max(1, training.steps // 2)),
            "gradient_clip": min(training.gradient_clip or _CLIP, _CLIP),
        },
    }
    if model.get("architecture", "transformer") != "transformer":
        del changes["model"]["norm"]
    return {
        table: {key: value for key, value in values.items() if f"{table}.{key}" not in given}
        for table, values in changes.items()
    }


def _less_dropout(dropout: float) -> float:
    return min(dropout, max(_LEAST_DROPOUT, round(dropout - _LESS_DROPOUT, 3)))
