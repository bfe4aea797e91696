"""The work of a process: take the lease of a shard that is missing, translate it, store it, until none is missing."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from regard.errors import RegardError
from regard.search import SearchSettings
from regard.shards.folder import PAUSE, Done, ShardFolder
from regard.shards.leases import Leases
from regard.shards.plan import Kind, Plan, Shard
from regard.text.content import Content
from regard.text.documents import SegmentState, by_name
from regard.text.memory import Memory
from regard.translation.documents import UNTRANSLATED, format_of, translated_document
from regard.translation.filling import Translates

Failed = dict[int, RegardError]  # why files could not be translated, by their numbers in the plan
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
    """A shard with all that is needed to translate it anywhere: no file is read there."""

    content: Content
    format: str
    part: bool  # of a text, rather than a whole document


def task(folder: ShardFolder, plan: Plan, shard: Shard, how: How) -> Task:
    """What is to be done for a shard."""
    file = plan.files[shard.file]
    path = Path(file.path)
    if file.kind is Kind.TEXT:
        text = folder.text(shard)
        return Task(Content(path=path, text=text, encoding=file.encoding, first_line=shard.first_line), "txt", True)
    found = by_name(how.format) if how.format else format_of(path)
    return Task(found.load(path, how.encoding), found.name, False)


def translated(
    translator: Translates, task: Task, how: How, progress: Callable[[int, int], None] | None = None
) -> Done:
    """A shard in translation."""
    written, report = translated_document(
        translator,
        task.content.path,
        format=task.format,
        states=how.states,
        marked=how.marked,
        search=how.search,
        glossary=how.glossary,
        progress=progress,
        memory=how.memory,
        checks=how.checks,
        content=task.content,
    )
    return Done(written.decode(task.content.encoding).encode() if task.part else written, report)


class Missing:
    """The shards that are not done yet, as far as this process knows."""

    def __init__(self, folder: ShardFolder, plan: Plan, leases: Leases) -> None:
        self._folder, self._plan, self._leases = folder, plan, leases
        self._left = {shard.name: shard for shard in plan.shards}
        self.lines = sum(shard.lines for shard in plan.shards)
        self.failed: Failed = {}

    def fail(self, shard: Shard, error: RegardError) -> None:
        """A document that cannot be translated does not stop the others; where it is the only file, it does."""
        if len(self._plan.files) == 1:
            raise error
        self.failed[shard.file] = error
        del self._left[shard.name]

    def look(self) -> bool:
        """Sees what all processes have done; False where nothing is missing that this process could do."""
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
) -> Failed:
    """Translates until every shard is done, by this process or by others, save those of files that fail."""
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
            folder.keep(shard, translated(translator, task(folder, plan, shard, how), how, within))
        except RegardError as error:
            missing.fail(shard, error)
        finally:
            leases.release(shard.name)
    told(missing.lines, missing.lines)
    return missing.failed
