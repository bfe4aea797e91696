"""A run of benchmarks/published.py, and what must be done before it."""

from __future__ import annotations

from hashlib import sha256
from typing import Any, NamedTuple

TAUGHT_BY = {"g2p-medium-distilled": "g2p-medium"}  # by recipes/distilled.py
TEACHERS = range(1, 9)  # their seeds, as they are there
STARTS = {  # recipes that start from the model of another one
    "trec-from-masked": "masked-english",
    "sst2-from-masked": "masked-english",
    "conll2000-from-masked": "masked-english",
    "lafand-en-yor-from-denoising": "denoising-en-yor",
}
TEXTS = {"masked-english": "english", "denoising-en-yor": "en-yor"}  # recipes, and the text of recipes/family.py
_LONGEST_NAME = 150  # bytes

Result = dict[str, Any]


class Run(NamedTuple):
    """One training; with several seeds, an ensemble of their models; without a seed, the text to learn."""

    recipe: str
    language: str
    seeds: tuple[int, ...]
    settings: tuple[str, ...]  # of the variant, in the order in which they were given

    @property
    def name(self) -> str:
        """Its folder."""
        variant = "+".join(setting.replace("/", "-").replace(" ", "") for setting in self.settings)
        if len(variant.encode()) > _LONGEST_NAME:  # folders' names have a limit
            variant = f"variant-{sha256(variant.encode()).hexdigest()[:16]}"
        seeds = "+".join(str(seed) for seed in self.seeds)
        return "_".join(part for part in (self.recipe, self.language, variant, f"seed{seeds}") if part)

    def alone(self, seed: int) -> Run:
        """The training of one of the seeds."""
        return self._replace(seeds=(seed,))

    def teachers(self) -> list[Run]:
        """The trainings that it learns from."""
        taught_by = TAUGHT_BY.get(self.recipe)
        return [Run(taught_by, self.language, (seed,), ()) for seed in TEACHERS] if taught_by else []

    def text(self) -> Run:
        """What its teachers write for it, or what recipes/family.py puts together."""
        return Run(self.recipe, self.language, (), ())

    def start(self) -> Run | None:
        """The training of the model that it starts from."""
        recipe = STARTS.get(self.recipe)
        return Run(recipe, "", (1,), ()) if recipe else None

    def needs(self) -> list[Run]:
        """What must be done before it."""
        if not self.seeds:
            return self.teachers()
        if len(self.seeds) > 1:
            return [self.alone(seed) for seed in self.seeds]
        start = self.start()
        return [start] if start else [self.text()] if self.needs_text() else []

    def needs_text(self) -> bool:
        """Whether what it learns from is written first."""
        return bool(self.teachers()) or self.recipe in TEXTS

    def with_needs(self) -> list[Run]:
        """All that must be done before it, and it."""
        return [*(needed for need in self.needs() for needed in need.with_needs()), self]
