"""The plan of a translation in shards: what was asked, which files there are, and where they were cut."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Annotated, NamedTuple

from pydantic import BeforeValidator

from regard.errors import SettingsError, TextError
from regard.settings import Settings

_BLOCK = 1 << 20


class Kind(StrEnum):
    """What a file is."""

    TEXT = "text"  # cut between lines
    DOCUMENT = "document"  # a shard of its own, read where it lies
    COPIED = "copied"  # of no known format


class PlannedFile(Settings):
    """A file that is translated, and its shards."""

    path: str  # where the process that cut it found it
    target: str  # relative to --out; a dot for --out itself
    kind: Annotated[Kind, BeforeValidator(Kind)]
    size: int  # in bytes
    modified: int  # when, as the file system says, in nanoseconds
    sha256: str
    first: int  # the number of its first shard
    shards: int
    lines: int = 0  # of a text
    encoding: str = "utf-8"
    mark: str = ""  # the byte order mark, in hexadecimal


class Shard(NamedTuple):
    """A part of a file."""

    number: int
    file: int  # the number of its file in the plan
    first_line: int
    lines: int  # about how much work it is

    @property
    def name(self) -> str:
        """Its name in the folder."""
        return f"{self.number:06d}"


class Plan(Settings):
    """What is to be done."""

    asked: dict[str, str]  # what decides on the translation, in words
    shard_lines: int
    files: Annotated[tuple[PlannedFile, ...], BeforeValidator(tuple)]

    @cached_property
    def shards(self) -> tuple[Shard, ...]:
        """All shards in order."""
        return tuple(shard for number in range(len(self.files)) for shard in self.of_file(number))

    def of_file(self, number: int) -> Iterator[Shard]:
        """The shards of a file in order."""
        file = self.files[number]
        for index in range(file.shards):
            before = index * self.shard_lines
            lines = max(1, min(self.shard_lines, file.lines - before))
            yield Shard(file.first + index, number, before + 1, lines)

    @classmethod
    def load(cls, path: Path) -> Plan:
        """The plan in a file."""
        try:
            table = json.loads(path.read_bytes())
        except ValueError:
            raise SettingsError(f"{path}: this file is damaged.\n  Choose another folder with --shards.") from None
        return cls.read(table, where=str(path))

    def check_asked(self, asked: Mapping[str, str], folder: Path) -> None:
        """Refuses to go on with anything that would change the translation."""
        names = [*self.asked, *(name for name in asked if name not in self.asked)]
        differing = [
            f"  {name}: {self.asked.get(name, 'none')} then, {asked.get(name, 'none')} now"
            for name in names
            if self.asked.get(name) != asked.get(name)
        ]
        if differing:
            told = "\n".join(differing)
            raise SettingsError(
                f"{folder}: this folder was begun with other options:\n{told}\n"
                "  Repeat the command with the same options to go on, or choose another folder with --shards."
            )

    def at(self, paths: Sequence[Path]) -> Plan:
        """The same plan, with the files where this process finds them: on another machine, or from another folder."""
        files = [file.model_copy(update={"path": str(path)}) for file, path in zip(self.files, paths, strict=True)]
        return self.model_copy(update={"files": tuple(files)})

    def check_files(self, folder: Path) -> None:
        """Refuses to go on where a file has changed since it was cut."""
        for file in self.files:
            path = Path(file.path)
            if not path.is_file():
                raise TextError(
                    f"{path}: there is no such file, but {folder} was begun with it.\n  Put the file back to go on."
                )
            state = path.stat()
            if state.st_size == file.size and (state.st_mtime_ns == file.modified or sha256(path) == file.sha256):
                continue
            raise TextError(
                f"{path}: this file has changed since it was cut into the shards of {folder}: {file.size:,} bytes "
                f"then, {state.st_size:,} bytes now.\n"
                "  Restore the file, or translate it as it is now with another folder for --shards."
            )


def sha256(path: Path) -> str:
    """The hash of a file, as it lies on the disk."""
    made = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            made.update(block)
    return made.hexdigest()
