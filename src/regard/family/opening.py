"""`load`: the object for a model folder, by the task that it was trained for."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from regard import modelfolder, shipped
from regard.errors import ModelFolderError, SettingsError
from regard.exchange.importing import is_foreign

TRANSLATION = "translation"


def load(
    model: str | Path | Sequence[str | Path],
    *,
    device: str | None = None,
    engine: str | None = None,
    split_over: int | None = None,
) -> Any:
    """The model in a folder, or the shipped model of that name, ready to use; several translators as an ensemble.

    A translator is a `Translator`, a language model a `LanguageModel`, and so on. `device` is cpu or cuda, the best
    that is there if left out. Only for translators: `engine` is what searches, chosen if left out; a text of more than
    `split_over` words is translated sentence by sentence.
    """
    options = {"engine": engine, "split_over": split_over}
    given = {name: value for name, value in options.items() if value is not None}
    task = task_of(model) if isinstance(model, str | Path) else TRANSLATION
    if task != TRANSLATION and given:
        raise SettingsError(f"{', '.join(given)}: these options are for translators; this model is for {task!r}.")
    return _class_for(task, str(model))(model, device=device, **given)


def task_of(model: str | Path) -> str:
    """The name of the task of a model folder; the models of other programs translate."""
    return TRANSLATION if is_foreign(model) else modelfolder.read_description(shipped.find(model)).task


def _class_for(task: str, name: str) -> Any:
    if task == TRANSLATION:  # the only one that may open without PyTorch
        from regard.translation.translator import Translator

        return Translator
    from regard import tasks

    found = tasks.task(task)
    if found.opens_as is None:
        raise ModelFolderError(f"{name}: a model for the task {task!r} does not open.\n  {found.instead}")
    module, _, kind = found.opens_as.rpartition(".")
    return getattr(import_module(f"regard.{module}"), kind)
