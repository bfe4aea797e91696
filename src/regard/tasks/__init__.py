"""Tasks: what an example is, one file each. A file with a `TASK` is one, under the file's name.

A task names the streams of an example, says which positions of a batch carry a label, which vocabularies a model of it
needs, and what a finished model opens as. Models, the loader and the training loop know streams and labels, nothing
else.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from regard.errors import SettingsError
from regard.settings import nearest
from regard.tasks.task import Task

__all__ = ["Task", "task", "tasks"]


def tasks() -> list[str]:
    """The names of all tasks."""
    modules = (module.name for module in iter_modules(__path__))
    return [name for name in modules if hasattr(import_module(f"{__name__}.{name}"), "TASK")]


def task(name: str) -> Task:
    """The task in the file of that name."""
    if name not in tasks():
        raise SettingsError(f"task = {name!r}: there is no such task; {nearest(name, tasks())}")
    found = import_module(f"{__name__}.{name}").TASK
    assert isinstance(found, Task)
    return found
