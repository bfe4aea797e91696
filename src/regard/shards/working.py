"""The work of a process: take the lease of a shard that is missing, translate it, store it, until none is missing."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from regard.search import SearchSettings
from regard.shards.folder import PAUSE, Done, ShardFolder
from regard.shards.leases import Leases
from regard.shards.plan import Kind, Plan, Shard
from regard.text.content import Content
from regard.text.documents import SegmentState
from regard.text.memory import Memory
from regard.translation.documents import UNTRANSLATED, translated_document
from regard.translation.filling import Translates

Progress = Callable[[float, int], None]  # so many of so many lines are done; a document counts as a line


@dataclass(frozen=True, kw_only=True)
class How:
    """How documents are translated."""

    search: SearchSettings | None = None
    glossary: Mapping[str, str] | None = None
    memory: Memory | None = None
    checks: bool | None = None
    states: Collection[SegmentState] = UNTRANSLATED
    marked: bool = True
    format: str | None = None
    encoding: str | None = None


class Task(NamedTuple):
    """A shard with all that is needed to translate it anywhere."""

    path: Path
    text: str | None  # None: the document is read from the path
    encoding: str
    first_line: int


def task(folder: ShardFolder, plan: Plan, shard: Shard) -> Task:
    """What is to be done for a shard."""
    file = plan.files[shard.file]
    text = folder.text(shard) if file.kind is Kind.TEXT else None
    return Task(Path(file.path), text, file.encoding, shard.first_line)


def translated(
    translator: Translates, task: Task, how: How, progress: Callable[[int, int], None] | None = None
) -> Done:
    """A shard in translation."""
    content = None
    if task.text is not None:
        content = Content(path=task.path, text=task.text, encoding=task.encoding, first_line=task.first_line)
    written, report = translated_document(
        translator,
        task.path,
        format="txt" if content else how.format,
        states=how.states,
        marked=how.marked,
        search=how.search,
        glossary=how.glossary,
        progress=progress,
        encoding=how.encoding,
        memory=how.memory,
        checks=how.checks,
        content=content,
    )
    return Done(written.decode(task.encoding).encode() if content else written, report)


class Missing:
    """The shards that are not done yet, as far as this process knows."""

    def __init__(self, folder: ShardFolder, plan: Plan, leases: Leases) -> None:
        self._folder, self._leases = folder, leases
        self._left = {shard.name: shard for shard in plan.shards}
        self.lines = sum(shard.lines for shard in plan.shards)

    def look(self) -> bool:
        """Sees what all processes have done; False where nothing is missing."""
        for name in self._folder.finished() & self._left.keys():
            del self._left[name]
        return bool(self._left)

    @property
    def done(self) -> int:
        """How many lines are done."""
        return self.lines - sum(shard.lines for shard in self._left.values())

    def take(self, besides: Collection[str] = ()) -> Shard | None:
        """The first missing shard whose lease this process gets; None where others have them all."""
        for name, shard in self._left.items():
            if name not in besides and self._leases.take(name):
                if not self._folder.has(shard):
                    return shard
                self._leases.release(name)  # another process has just done it
        return None


def work(
    folder: ShardFolder,
    plan: Plan,
    leases: Leases,
    translator: Translates,
    how: How,
    progress: Progress | None = None,
) -> None:
    """Translates until every shard is done, by this process or by others."""
    missing = Missing(folder, plan, leases)
    told = progress or (lambda *_: None)
    while missing.look():
        told(missing.done, missing.lines)
        shard = missing.take()
        if shard is None:
            time.sleep(PAUSE)
            continue
        before, lines = missing.done, shard.lines

        def within(done: int, total: int, before: int = before, lines: int = lines) -> None:
            told(before + lines * done / max(1, total), missing.lines)

        try:
            folder.keep(shard, translated(translator, task(folder, plan, shard), how, within))
        finally:
            leases.release(shard.name)
    told(missing.lines, missing.lines)
