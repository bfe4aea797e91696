"""The choices of section 5; the defaults are the paper's, for its base model."""

from __future__ import annotations

from pydantic import Field, PositiveInt

from regard.settings import Settings


class TrainingSettings(Settings):
    """A preset's `[training]` table; src/regard/presets/base.toml explains each key."""

    steps: PositiveInt = 100_000
    batch_tokens: PositiveInt = 25_000
    adam_beta1: float = Field(default=0.9, ge=0, lt=1)
    adam_beta2: float = Field(default=0.98, ge=0, lt=1)
    adam_epsilon: float = Field(default=1e-9, gt=0)
    warmup: PositiveInt = 4_000
    label_smoothing: float = Field(default=0.1, ge=0, lt=1)
    averaged_checkpoints: PositiveInt = 5
