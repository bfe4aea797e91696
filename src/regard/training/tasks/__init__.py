"""What training does for a task, one file each under the task's name: a file has a `WORK`.

`WORK` reads and prepares the task's text, says what a model of it needs beside its preset, and validates it. Everything
else in training is the same for all tasks.
"""

from __future__ import annotations

from importlib import import_module

from regard import tasks
from regard.training.tasks.work import Work

__all__ = ["Work", "work"]


def work(task: str) -> Work:
    """What training does for the task of that name."""
    tasks.task(task)  # refuses unknown names
    found = import_module(f"{__name__}.{task}").WORK
    assert isinstance(found, Work)
    return found
