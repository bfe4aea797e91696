"""What a file in this folder defines."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import torch

from regard import tasks
from regard.errors import SettingsError
from regard.tokens import Tokenisers
from regard.training.corpora import Corpora
from regard.training.recipe import DataSettings, Recipe, Tables
from regard.training.surroundings import Surroundings
from regard.training.testing import test_of_another_task
from regard.training.validation import Looking, Validation

Chosen = tuple[str, Tables, list[str]]
"""A preset, changes to it, and the reasons for both, as sentences."""


class Work(ABC):
    """How one task is trained."""

    task: str  # its name
    required: tuple[tuple[str, str], ...] = (("files", "text files"),)  # keys of [data], and how to say them

    def check(self, data: Mapping[str, Any]) -> None:
        """Refuses a [data] table that lacks something."""
        missing = [name for name, _ in self.required if not data.get(name)]
        if missing:
            wanted = ", ".join(words for _, words in self.required)
            raise SettingsError(
                f"the training data are incomplete: {', '.join(missing)} missing.\n"
                f"  Give {wanted}, or a recipe with a [data] table."
            )

    @abstractmethod
    def advise(self, data: DataSettings, training: Mapping[str, Any], device: torch.device) -> Chosen:
        """What to train on these data where no preset was named."""

    @abstractmethod
    def fit(self, preset: str, given: Tables, checked: Recipe) -> Chosen:
        """The preset that was named, with what has to suit the data."""

    @abstractmethod
    def tokenisers(self, recipe: Recipe, around: Surroundings) -> Tokenisers:
        """Those that the run has already, or new ones from its text."""

    @abstractmethod
    def corpora(self, recipe: Recipe, around: Surroundings, tokenisers: Tokenisers) -> Corpora:
        """What is trained on and what is not."""

    def validation(self, looking: Looking) -> Validation:
        """What looks at the model now and then."""
        return Validation(looking)

    def signatures(self) -> dict[str, str]:
        """Those of the metrics of a validation."""
        return {}

    def languages(self, data: DataSettings) -> dict[str, str]:
        """What a model folder says about languages."""
        return {"source": data.source} if data.source else {}

    def test(self, recipe: Recipe, around: Surroundings) -> None:
        """Scores the recipe's test set by the finished model."""
        test_of_another_task(recipe, around)

    @property
    def unit(self) -> str:
        """What examples are called."""
        return tasks.task(self.task).unit
