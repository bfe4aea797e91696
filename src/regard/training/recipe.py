"""A recipe: everything that a training run depends on, in tables, checked as a whole before anything starts.

It is put together from a preset, a TOML file, `--set` and the options of the command, each before the next.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, PositiveInt, field_validator

from regard import models, presets
from regard.batches.preparation import Source
from regard.errors import SettingsError
from regard.settings import Settings, read_toml
from regard.text.bad_input import BadInput
from regard.text.cleaning import CleaningSettings
from regard.text.corpus import read
from regard.text.pairs import Languages, Pair
from regard.tokens import TokeniserSettings
from regard.training.settings import TrainingSettings, ValidationSettings

Tables = presets.Tables


class DataSettings(Settings):
    """What is trained on."""

    files: Annotated[tuple[str, ...], Field(strict=False, min_length=1)]
    source: str
    target: str
    valid: str | None = None  # without one, pairs are held out
    format: str | None = None
    columns: Annotated[tuple[PositiveInt, PositiveInt], Field(strict=False)] | None = None
    skip_bad: bool = False
    adapt: str | None = None  # the model folder to start from
    old: Annotated[tuple[str, ...], Field(strict=False)] = ()  # what that model was trained on, mixed in
    old_share: float = Field(default=0.5, ge=0, lt=1)  # of the pairs

    def pairs(self) -> Iterator[Pair]:
        """The pairs as they stand in the files."""
        languages, bad = Languages(self.source, self.target), BadInput(skip=self.skip_bad)
        return read(self.files, languages, format=self.format, columns=self.columns, bad=bad)


class Recipe(Settings):
    """All tables."""

    data: DataSettings
    cleaning: CleaningSettings = CleaningSettings()
    tokeniser: TokeniserSettings = TokeniserSettings()
    model: dict[str, Any] = Field(default_factory=dict)
    training: TrainingSettings = TrainingSettings()
    validation: ValidationSettings = ValidationSettings()

    @field_validator("model")
    @classmethod
    def _model_fits_its_architecture(cls, table: dict[str, Any]) -> dict[str, Any]:
        unknown = {"source_vocabulary": 1, "target_vocabulary": 1}  # known when there is a tokeniser
        try:
            models.read_settings(table | unknown, where="model")
        except SettingsError as error:
            raise ValueError(str(error).replace("\n  ", "\n    model.")) from None
        return table

    def source(self, *files: str) -> Source:
        """Where pairs come from: the training files, unless others are named."""
        return Source(
            data=files or self.data.files,
            source=self.data.source,
            target=self.data.target,
            format=self.data.format,
            columns=self.data.columns,
            skip_bad=self.data.skip_bad,
            cleaning=self.cleaning,
            max_tokens=self.training.row_lengths[-1],
        )


def put_together(preset: str, chosen: Tables, recipe: Path | None, settings: Sequence[str], options: Tables) -> Recipe:
    """The recipe, checked; all that is wrong with it is told at once. `chosen` are changes to the preset."""
    tables: Tables = {}
    for more in (presets.load(preset).tables, chosen, read_toml(recipe) if recipe else {}, _parsed(settings), options):
        for name, table in more.items():
            if not isinstance(table, dict):
                raise SettingsError(f"{recipe}: {name} = {table!r} must stand in a table, such as [training].")
        tables = presets.over(tables, more)
    return Recipe.read(tables, where=str(recipe) if recipe else f"preset {preset!r} and options")


def _parsed(settings: Sequence[str]) -> Tables:
    """`training.steps=100` as tables; a value that is not TOML is a string."""
    tables: Tables = {}
    for setting in settings:
        path, equals, value = setting.partition("=")
        table, dot, name = path.strip().partition(".")
        if not (equals and dot and table and name):
            raise SettingsError(
                f"--set {setting}: this is not of the form table.key=value, such as training.steps=1000"
            )
        try:
            parsed = tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError:
            parsed = value.strip()
        tables.setdefault(table, {})[name] = parsed
    return tables
