"""The output files, put together from shards: each once, whole, by one of the processes that see the last shard done.

Its hash is recorded before a file appears. So a process that comes later, or is started again, knows a file that is
there for the output, and does not write it twice.
"""

from __future__ import annotations

import codecs
import hashlib
import time
from collections.abc import Collection, Iterator, Sequence
from itertools import chain
from pathlib import Path

from regard.errors import TextError
from regard.shards.folder import PAUSE, ShardFolder
from regard.shards.leases import Leases
from regard.shards.plan import Kind, Plan, PlannedFile
from regard.text.files import DamagedFile, blocks, replacing
from regard.translation.documents import Report

WRITING = "writing"  # the lease of the process that writes output files

_BLOCK = 1 << 20


def refuse_to_overwrite(folder: ShardFolder, plan: Plan, out: Path) -> None:
    """Refuses output files that exist, unless they are those of these shards."""
    for number, file in enumerate(plan.files):
        target = target_of(file, out)
        if target.resolve() == Path(file.path).resolve():
            raise TextError(f"{target}: with --shards, the output cannot replace the input.\n  Give another --out.")
        if target.exists() and not _is_written(folder, number, target):
            raise TextError(f"{target}: this file already exists.\n  Give --force to overwrite it.")


def assemble(
    folder: ShardFolder, plan: Plan, leases: Leases, out: Path, *, force: bool, besides: Collection[int] = ()
) -> None:
    """Writes all output files that are not there yet, when every shard is done, `besides` those of these numbers."""
    while True:
        waiting = [
            number
            for number, file in enumerate(plan.files)
            if number not in besides and not _is_written(folder, number, target_of(file, out))
        ]
        if not waiting:
            return
        if not leases.take(WRITING):
            time.sleep(PAUSE)
            continue
        try:
            if not force:
                refuse_to_overwrite(folder, plan, out)
            for number in waiting:
                if not _is_written(folder, number, target_of(plan.files[number], out)):
                    _write(folder, plan, number, target_of(plan.files[number], out))
        finally:
            leases.release(WRITING)


def reports(folder: ShardFolder, plan: Plan, *, besides: Collection[int] = ()) -> Iterator[tuple[Report, PlannedFile]]:
    """What became of each file, its shards taken together; nothing for a file that was copied."""
    for number, file in enumerate(plan.files):
        if number in besides:
            continue
        parts = [folder.report(shard) for shard in plan.of_file(number)]
        if parts:
            yield together(parts), file


def together(parts: Sequence[Report]) -> Report:
    """The report on a file whose parts have these reports, in order."""
    return Report(
        path=parts[0].path,
        format=parts[0].format,
        segments=sum(part.segments for part in parts),
        translated=sum(part.translated for part in parts),
        in_pieces=sum(part.in_pieces for part in parts),
        kept=sum(part.kept for part in parts),
        refused=tuple(chain.from_iterable(part.refused for part in parts)),
        refused_parts=tuple(chain.from_iterable(part.refused_parts for part in parts)),
        remembered=sum(part.remembered for part in parts),
        worth_a_look=tuple(chain.from_iterable(part.worth_a_look for part in parts)),
        near=tuple(chain.from_iterable(part.near for part in parts)),
    )


def target_of(file: PlannedFile, out: Path) -> Path:
    """Where the translation of a file goes."""
    return out if file.target == "." else out / file.target


def _write(folder: ShardFolder, plan: Plan, number: int, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    made, size = hashlib.sha256(), 0
    with replacing(target) as file:
        for block in _content(folder, plan, number):
            file.write(block)
            made.update(block)
            size += len(block)
        folder.record(number, {"sha256": made.hexdigest(), "bytes": size})


def _content(folder: ShardFolder, plan: Plan, number: int) -> Iterator[bytes]:
    file = plan.files[number]
    if file.kind is Kind.COPIED:
        yield Path(file.path).read_bytes()
        return
    encoder = codecs.getincrementalencoder(file.encoding)()
    yield bytes.fromhex(file.mark)
    for shard in plan.of_file(number):
        content = folder.translation(shard)
        yield encoder.encode(content.decode()) if file.kind is Kind.TEXT else content


def _is_written(folder: ShardFolder, number: int, target: Path) -> bool:
    """Whether a file that is there has what was recorded, whatever its compression."""
    recorded = folder.recorded(number)
    if recorded is None or not target.is_file():
        return False
    made, size = hashlib.sha256(), 0
    try:
        for block in blocks(target, size=_BLOCK):
            made.update(block)
            size += len(block)
    except DamagedFile:
        return False
    return {"sha256": made.hexdigest(), "bytes": size} == recorded
