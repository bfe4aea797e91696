"""The choices of section 5 and those around them; the defaults are the paper's, for its base model."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, PositiveFloat, PositiveInt

from regard.settings import Settings


class TrainingSettings(Settings):
    """A preset's `[training]` table; src/regard/presets/base.toml explains each key."""

    steps: PositiveInt = 100_000
    minutes: PositiveFloat | None = None
    batch_tokens: PositiveInt = 25_000
    row_lengths: Annotated[tuple[PositiveInt, ...], Field(strict=False, min_length=1)] = (128, 256, 512, 1024)
    parts: PositiveInt = 1
    adam_beta1: float = Field(default=0.9, ge=0, lt=1)
    adam_beta2: float = Field(default=0.98, ge=0, lt=1)
    adam_epsilon: float = Field(default=1e-9, gt=0)
    schedule: Literal["inverse-square-root", "constant"] = "inverse-square-root"
    warmup: PositiveInt = 4_000
    peak_rate: PositiveFloat | None = None
    cooldown: float = Field(default=0.0, ge=0, lt=1)
    gradient_clip: PositiveFloat | None = None
    weight_decay: float = Field(default=0.0, ge=0)
    label_smoothing: float = Field(default=0.1, ge=0, lt=1)
    consistency: float = Field(default=0.0, ge=0)
    checkpoint_every: PositiveInt | None = None
    checkpoint_minutes: PositiveFloat | None = 10.0
    averaged_checkpoints: PositiveInt = 5
    seed: int = 1
    precision: Literal["auto", "float32", "tf32", "bf16", "fp16"] = "auto"
    compile: Literal["auto", "yes", "no"] = "auto"


class ValidationSettings(Settings):
    """A preset's `[validation]` table."""

    pairs: PositiveInt = 2_000
    every: PositiveInt = 1_000
    translate_every: PositiveInt = 5
    translated_pairs: PositiveInt = 200
    patience: PositiveInt | None = None


class ScoringSettings(Settings):
    """A recipe's `[test]` table: what is scored when training has ended, as `regard evaluate` does it."""

    file: str  # "": none
    metrics: Annotated[tuple[str, ...], Field(strict=False, min_length=1)] | None = None  # None: by the task
    tokenised: bool = False
    lowercase: bool = False
    beam_size: PositiveInt = 4
    length_penalty: float | None = Field(default=None, ge=0)  # None: the model's
