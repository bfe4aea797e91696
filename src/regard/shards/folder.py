"""The folder of a translation in shards: each file in it is written whole, and says something that stays true."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import zstandard

from regard.errors import SettingsError, TextError
from regard.files import new_file, write
from regard.shards.cutting import cut
from regard.shards.leases import Leases
from regard.shards.plan import Kind, Plan, PlannedFile, Shard, sha256
from regard.text.memory import Match
from regard.translation.checks import Finding
from regard.translation.documents import Report
from regard.translation.review import Near, Segment

CUTTING = "cutting"  # the lease of the process that cuts the files
PAUSE = 0.25  # seconds between two looks at what other processes do

_PLAN = "plan.json"
_INPUT = "standard-input"
_FOLDERS = ("sources", "leases", "reports", "done", "written")


class Source(NamedTuple):
    """A file that is to be translated, and where its translation goes."""

    path: Path
    target: str
    kind: Kind


class Done(NamedTuple):
    """A shard in translation: UTF-8 for a shard of a text, the bytes of the file for a document."""

    content: bytes
    report: Report


class ShardFolder:
    """What processes share. Nothing in it depends on which of them has written it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            for name in _FOLDERS:
                (path / name).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise SettingsError(
                f"{path}: Regard cannot write to this folder: {error.strerror}.\n  Choose another one with --shards."
            ) from None

    @property
    def leases(self) -> Path:
        """Where the leases are."""
        return self.path / "leases"

    def keep_input(self, blocks: Iterable[bytes]) -> Path:
        """Stores standard input as a file, so that it can be read again; a file that is there must be the same."""
        place = self.path / _INPUT
        if not place.is_file():
            with new_file(place) as file:
                file.writelines(blocks)
            return place
        made = hashlib.sha256()
        for block in blocks:
            made.update(block)
        if made.hexdigest() != sha256(place):
            raise TextError(
                f"-: standard input is not what it was when {self.path} was begun.\n"
                "  Give the same text to go on, or choose another folder with --shards."
            )
        return place

    def plan(self) -> Plan | None:
        """The plan, once all shards are there."""
        place = self.path / _PLAN
        return Plan.load(place) if place.is_file() else None

    def planned(
        self,
        sources: Sequence[Source],
        asked: Mapping[str, str],
        leases: Leases,
        *,
        lines: int,
        encoding: str | None,
        say: Callable[[str], None],
    ) -> Plan:
        """The plan that is there, if nothing in it differs from what is asked now; else a new one, made once."""
        told = False
        while (plan := self.plan()) is None:
            if leases.take(CUTTING):
                try:
                    self._cut(sources, asked, lines, encoding)
                finally:
                    leases.release(CUTTING)
            else:
                if not told:
                    say(f"Waiting while {leases.owner(CUTTING) or 'another process'} cuts the files into shards.")
                told = True
                time.sleep(PAUSE)
        plan.check_asked(asked, self.path)
        here = plan.at([source.path for source in sources])
        here.check_files(self.path)
        return here

    def _cut(self, sources: Sequence[Source], asked: Mapping[str, str], lines: int, encoding: str | None) -> None:
        files: list[PlannedFile] = []
        first = 0
        for source in sources:
            state = source.path.stat()
            common: dict[str, Any] = {
                "path": str(source.path),
                "target": source.target,
                "kind": source.kind,
                "size": state.st_size,
                "modified": state.st_mtime_ns,
                "sha256": sha256(source.path),
                "first": first,
            }
            if source.kind is Kind.TEXT:

                def keep(number: int, text: str, first: int = first) -> None:
                    self._write("sources", f"{first + number:06d}.zst", content=_compressed(text.encode()))

                made = cut(source.path, encoding, lines, keep)
                common |= made._asdict() | {"mark": made.mark.hex()}
            else:
                common |= {"shards": int(source.kind is Kind.DOCUMENT)}
            files.append(PlannedFile.read(common, where=str(source.path)))
            first += files[-1].shards
        plan = Plan(asked=dict(asked), shard_lines=lines, files=tuple(files))
        self._write(_PLAN, content=json.dumps(plan.table(), ensure_ascii=False, indent=1).encode())

    def text(self, shard: Shard) -> str:
        """The text of a shard of a text file."""
        return self._read("sources", shard).decode()

    def finished(self) -> set[str]:
        """The names of the shards that are done."""
        return {path.stem for path in (self.path / "done").glob("[0-9]*.zst")}

    def has(self, shard: Shard) -> bool:
        """Whether a shard is done."""
        return (self.path / "done" / f"{shard.name}.zst").exists()

    def keep(self, shard: Shard, done: Done) -> None:
        """Stores a shard in translation, unless another process was faster."""
        if not self.has(shard):
            report = json.dumps(asdict(done.report), ensure_ascii=False).encode()
            self._write("reports", f"{shard.name}.json", content=report)
            self._write("done", f"{shard.name}.zst", content=_compressed(done.content))

    def translation(self, shard: Shard) -> bytes:
        """What was stored; a damaged file is deleted, so that its shard is done again."""
        return self._read("done", shard)

    def report(self, shard: Shard) -> Report:
        """What became of the segments of a shard."""
        return _report(json.loads((self.path / "reports" / f"{shard.name}.json").read_bytes()))

    def record(self, number: int, table: Mapping[str, Any]) -> None:
        """Records the hash of an output file before it appears."""
        self._write("written", f"{number}.json", content=json.dumps(dict(table)).encode())

    def recorded(self, number: int) -> dict[str, Any] | None:
        """What was recorded about an output file."""
        place = self.path / "written" / f"{number}.json"
        return dict(json.loads(place.read_bytes())) if place.is_file() else None

    def _read(self, kind: str, shard: Shard) -> bytes:
        place = self.path / kind / f"{shard.name}.zst"
        try:
            return zstandard.ZstdDecompressor().decompressobj().decompress(place.read_bytes())
        except zstandard.ZstdError:
            place.unlink(missing_ok=True)
            advice = "Start the command again" if kind == "done" else "Begin again with another folder for --shards"
            raise TextError(f"{place}: this file was damaged.\n  {advice}.") from None

    def _write(self, *names: str, content: bytes) -> None:
        *folders, name = names
        try:
            write(self.path.joinpath(*folders, name), content)
        except FileNotFoundError:
            raise SettingsError(
                f"{self.path}: this folder is no longer there.\n  Start the command again: it begins from the start."
            ) from None


def _compressed(content: bytes) -> bytes:
    return zstandard.ZstdCompressor(write_checksum=True).compress(content)


def _report(table: dict[str, Any]) -> Report:
    looks = [
        Segment(**{**look, "findings": tuple(Finding(**found) for found in look["findings"])})
        for look in table["worth_a_look"]
    ]
    near = [Near(**{**one, "matches": tuple(Match(*match) for match in one["matches"])}) for one in table["near"]]
    lists: dict[str, Any] = {"refused": tuple(table["refused"]), "refused_parts": tuple(table["refused_parts"])}
    return Report(**{**table, **lists, "worth_a_look": tuple(looks), "near": tuple(near)})
