"""Adapting a model that is there: it keeps its architecture, its size and its tokeniser.

Its dropout may be another one, since a small corpus wants more of it than the one that the model was made with.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from regard import modelfolder, models, tasks
from regard.errors import SettingsError
from regard.models.protocols import Model
from regard.settings import Settings
from regard.tokens import Tokenisers
from regard.training.recipe import Tables

_MAY_CHANGE = ("dropout", "token_dropout", "head_dropout")
_OF_A_TASK = ("labels", "pooling", "legal_tags")  # settings that follow from the task, not from the model


def own_tables(name: str, given: Tables, *, task: str = modelfolder.DEFAULT_TASK) -> Tables:
    """The tables [model] and [tokeniser] of the model that is adapted; settings in `given` that differ are refused.

    A model of another task can be adapted if it has the architecture of this one.
    """
    description, files = modelfolder.read_description(name), modelfolder.read_tokeniser(name)
    wanted = tasks.task(task).architecture
    if description.task != task and description.architecture != wanted:
        raise SettingsError(
            f"--from {name}: this model was trained for the task {description.task!r} and is a "
            f"{description.architecture} model, but the task {task!r} needs a {wanted} model.\n"
            "  Start from another model, or train without --from."
        )
    vectors = tasks.task(task).vectors
    if tasks.task(description.task).vectors != vectors:
        raise SettingsError(
            f"--from {name}: this model was trained for the task {description.task!r}, and the task {task!r} reads "
            f"{'vectors' if vectors else 'text'}, which it does not.\n"
            "  Start from another model, or train without --from."
        )
    own = {"architecture": description.architecture, **_settings(description, {}).table()}
    sizes = models.architecture(description.architecture).vocabularies.values()
    others = _OF_A_TASK if description.task != task else ()
    model = {key: value for key, value in own.items() if key not in sizes and key not in others}
    tokeniser = Tokenisers.from_files(files).settings if files else None
    tables: Tables = {"model": model, "tokeniser": tokeniser.table() if tokeniser else {}}
    for table, values in tables.items():
        asked = given.get(table, {})
        _refuse(name, table, {key: asked[key] for key in asked if key not in (*_MAY_CHANGE, *others)}, values)
    return tables


def adapted(loaded: modelfolder.ModelFolder, table: Mapping[str, Any]) -> tuple[Model[Any, Any], Settings, str]:
    """The model with the dropout of a recipe's table [model]; its settings and its architecture."""
    settings = _settings(loaded.description, {key: table[key] for key in (*_MAY_CHANGE, *_OF_A_TASK) if key in table})
    model = models.build(loaded.description.architecture, settings)
    with torch.no_grad():
        own = models.tensors(loaded.model)
        for name, tensor in models.tensors(model).items():
            if name in own and own[name].shape == tensor.shape:  # others belong to the head of a new task
                tensor.copy_(own[name])
    return model, settings, loaded.description.architecture


def _settings(description: modelfolder.Description, changed: Mapping[str, Any]) -> Settings:
    kind = models.architecture(description.architecture).settings
    return kind.read({**description.settings, **changed}, where="model")


def _refuse(name: str, table: str, asked: Mapping[str, Any], own: Mapping[str, Any]) -> None:
    for key, value in asked.items():
        if value != own.get(key):
            has = f"has {own[key]!r}" if key in own else "does not set it"
            raise SettingsError(
                f"{table}.{key} = {value!r}: the model {name}, which this run adapts, {has}.\n"
                f"  Adapting keeps the size and the tokeniser: leave {table}.{key} out, or train without --from."
            )
