"""A recipe: everything that a training run depends on, in tables, checked as a whole before anything starts.

It is put together from a preset, a TOML file, `--set` and the options of the command, each before the next. The file
can name its preset (`extends = "tiny"`) and its data; `{source}` and `{target}` in a path are the languages' codes, and
paths that are not absolute begin at the folder $REGARD_DATA, or where the command runs if that is not set.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, PositiveInt, ValidationInfo, field_validator

from regard import modelfolder, models, presets, tasks
from regard.batches.preparation import Source
from regard.errors import SettingsError
from regard.settings import Settings, nearest, read_toml
from regard.text.cleaning import CleaningSettings
from regard.text.plain_documents import How
from regard.tokens import TokeniserSettings
from regard.training.training_settings import ScoringSettings, TrainingSettings, ValidationSettings

Tables = presets.Tables

_PATHS = (("data", "files"), ("data", "valid"), ("data", "old"), ("test", "file"))


class DataSettings(Settings):
    """What is trained on."""

    files: Annotated[tuple[str, ...], Field(strict=False, min_length=1)]
    task: str = modelfolder.DEFAULT_TASK
    source: str = ""  # languages
    target: str = ""
    valid: str | None = None  # without one, examples are held out
    documents: How = "auto"  # how plain text is divided into documents
    whole_words: bool = False  # whether a masked model's words are masked as a whole
    masked_share: float = Field(default=0.15, gt=0, lt=1)  # of the tokens, what a masked model predicts
    patch: PositiveInt | Annotated[tuple[PositiveInt, PositiveInt], Field(strict=False)] | None = None  # of images
    colour: bool | None = None  # whether images are read in colour; by default, as the first one is
    format: str | None = None
    columns: Annotated[tuple[PositiveInt | str, PositiveInt | str], Field(strict=False)] | None = None
    encoding: str | None = None  # of text files; UTF-8 by default
    skip_bad: bool = False
    adapt: str | None = None  # the model folder to start from
    old: Annotated[tuple[str, ...], Field(strict=False)] = ()  # what that model was trained on, mixed in
    old_share: float = Field(default=0.5, ge=0, lt=1)  # of the pairs


class Recipe(Settings):
    """All tables."""

    data: DataSettings
    cleaning: CleaningSettings = CleaningSettings()
    tokeniser: TokeniserSettings = TokeniserSettings()
    model: dict[str, Any] = Field(default_factory=dict)
    training: TrainingSettings = TrainingSettings()
    validation: ValidationSettings = ValidationSettings()
    test: ScoringSettings | None = None

    @field_validator("data")
    @classmethod
    def _task_exists(cls, data: DataSettings) -> DataSettings:
        try:
            tasks.task(data.task)
        except SettingsError as error:
            raise ValueError(str(error)) from None
        return data

    @field_validator("model")
    @classmethod
    def _model_fits_its_architecture(cls, table: dict[str, Any], info: ValidationInfo) -> dict[str, Any]:
        tokeniser = info.data.get("tokeniser")  # missing where it has mistakes of its own
        try:
            kind = models.named_by(table)
            if tokeniser and not tokeniser.is_joint:
                table = kind.separated(table)
            unknown = dict.fromkeys(kind.vocabularies.values(), 1)  # known when there is a tokeniser
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
            encoding=self.data.encoding,
            skip_bad=self.data.skip_bad,
            cleaning=self.cleaning,
            max_tokens=self.training.row_lengths[-1],
        )


def read_file(path: Path) -> tuple[str | None, Tables]:
    """The preset that a recipe's file extends, if it names one, and its tables."""
    tables = read_toml(path)
    preset = tables.pop("extends", None)
    for name, table in tables.items():
        if not isinstance(table, dict):
            raise SettingsError(f"{path}: {name} = {table!r} must be inside a table, such as [training].")
    if preset is not None and preset not in presets.names():
        raise SettingsError(f"{path}: extends = {preset!r}: {nearest(str(preset), presets.names())}")
    return preset, tables


def merged(*layers: Tables) -> Tables:
    """Tables put together, each before the next."""
    tables: Tables = {}
    for layer in layers:
        tables = presets.over(tables, layer)
    return tables


def put_together(layers: Sequence[Tables], *, where: str, malformed: Sequence[str] = ()) -> Recipe:
    """The recipe, checked; everything that is wrong is reported at once, with the settings that are `malformed`."""
    listed = "".join(f"\n  {problem}" for problem in malformed)
    try:
        recipe = Recipe.read(merged(*layers), where=where)
    except SettingsError as error:
        raise SettingsError(f"{error}{listed}") from None
    if malformed:
        raise SettingsError(f"{where}: these settings are invalid:{listed}")
    return recipe


def with_paths(tables: Tables, languages: Mapping[str, Any]) -> Tables:
    """The tables of a recipe's file with whole paths to its data; `languages` has a source and a target, if known."""
    codes = {key: str(tables.get("data", {}).get(key, "")) for key in ("source", "target")}
    codes |= {key: str(languages[key]) for key in codes if languages.get(key)}
    found = {name: dict(table) for name, table in tables.items()}
    for name, key in _PATHS:
        value = found.get(name, {}).get(key)
        if isinstance(value, str):
            found[name][key] = _whole(value, codes)
        elif isinstance(value, list):
            found[name][key] = [_whole(item, codes) if isinstance(item, str) else item for item in value]
    return found


def _whole(path: str, codes: Mapping[str, str]) -> str:
    for key, code in codes.items():
        if f"{{{key}}}" in path and not code:
            raise SettingsError(f"{path}: the {key} language is unknown.\n  Give it: --{key} CODE")
        path = path.replace(f"{{{key}}}", code)
    return str(Path(os.environ.get("REGARD_DATA", "")) / path)


def parsed(settings: Sequence[str]) -> tuple[Tables, list[str]]:
    """`training.steps=100` as tables, and a message for each malformed setting; what is not TOML is a string."""
    tables: Tables = {}
    malformed = []
    for setting in settings:
        path, equals, value = setting.partition("=")
        table, dot, name = path.strip().partition(".")
        if not (equals and dot and table and name):
            malformed.append(f"--set {setting}: expected the form table.key=value, such as training.steps=1000")
            continue
        try:
            parsed = tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError:
            parsed = value.strip()
        tables.setdefault(table, {})[name] = parsed
    return tables, malformed
