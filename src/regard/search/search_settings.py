"""The choices of section 6.1; the defaults are the paper's."""

from __future__ import annotations

from typing import Self

from pydantic import Field, NonNegativeInt, PositiveInt, model_validator

from regard.settings import Settings


class SearchSettings(Settings):
    """How a model's words are searched; docs/search.md explains each."""

    method: str = "beam"  # the name of a file in this folder: beam, greedy, sampling
    beam_size: PositiveInt = 4
    length_penalty: float = Field(default=0.6, ge=0)  # alpha; 0 does not favour long sentences
    early_stop: bool = True  # off: goes on to the limit and finds the same
    n_best: PositiveInt = 1

    max_length_factor: float = Field(default=1.0, ge=0)  # at most factor * source length + offset words ...
    max_length_offset: NonNegativeInt = 50
    max_length: PositiveInt | None = None  # ... and never more than this
    min_length: NonNegativeInt = 0

    repetition_cycle: NonNegativeInt = 6  # the longest cycle that the guard watches for; 0 turns it off
    repetition_copies: int = Field(default=8, ge=2)  # so many copies of a cycle in a row, and no more

    temperature: float = Field(default=1.0, gt=0)
    top_k: PositiveInt | None = None
    top_p: float = Field(default=1.0, gt=0, le=1)
    seed: int = Field(default=0, ge=0, lt=2**63)

    @model_validator(mode="after")
    def _fit_together(self) -> Self:
        if self.method == "beam" and self.n_best > self.beam_size:
            raise ValueError(f"n_best = {self.n_best} needs a beam_size of at least that, not {self.beam_size}.")
        if self.method == "greedy" and self.n_best > 1:
            raise ValueError(f"n_best = {self.n_best}: greedy search finds one; use method = 'beam' or 'sampling'.")
        if self.max_length is not None and self.min_length > self.max_length:
            raise ValueError(f"min_length = {self.min_length} is more than max_length = {self.max_length}.")
        if self.method in ("beam", "greedy"):
            for name in ("temperature", "top_k", "top_p", "seed"):
                if getattr(self, name) != type(self).model_fields[name].default:
                    raise ValueError(f"{name} applies only to method = 'sampling', but method is '{self.method}'.")
        return self
