"""One training at a time in a folder: a lock that the system releases when its process ends, however it ends.

The file `training/lock` names the process and the machine that hold the lock. The lock itself is `flock`, which Linux
also carries to other machines over NFS, CIFS and most cluster file systems. Where a file system has no locks, the file
alone counts: a process that is gone on this machine is no obstacle, and another machine's must be cleared by hand.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from regard.errors import TrainingError
from regard.owners import Owner, this_process

LOCK = "lock"


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Makes `folder` and keeps other trainings out of it; it does not stay where nothing was put into it."""
    made = [place for place in (folder, folder.parent) if not place.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = _take(folder / LOCK)
    except OSError as error:
        raise TrainingError(
            f"{folder}: Regard cannot write to this folder: {error.strerror}.\n  Choose another --out."
        ) from None
    try:
        yield
    finally:
        (folder / LOCK).unlink(missing_ok=True)
        os.close(file)
        with suppress(OSError):  # of folders that are not empty
            for place in made:
                place.rmdir()


def _take(path: Path) -> int:
    """The open file of the lock, which this process holds from now on, and which names it."""
    while True:
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            _lock(file, path)
            if _is_there(file, path):
                os.truncate(file, 0)
                os.write(file, json.dumps(this_process()._asdict()).encode())
                return file
        except BaseException:
            os.close(file)
            raise
        os.close(file)  # another process has just released and deleted it


def _lock(file: int, path: Path) -> None:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise _held(path, _owner(path), "Wait until it ends, or stop it") from None
    except OSError:  # this file system has no locks
        owner = _owner(path)
        if owner and owner.machine != socket.gethostname():
            raise _held(path, owner, f"If it has ended, delete {path}") from None
        if owner and owner.is_alive:
            raise _held(path, owner, "Wait until it ends, or stop it") from None


def _held(path: Path, owner: Owner | None, advice: str) -> TrainingError:
    who, folder = owner or "another process", path.parent.parent
    return TrainingError(f"{folder}: {who} is training in this folder.\n  {advice}; or choose another --out.")


def _owner(path: Path) -> Owner | None:
    """Who the file says holds the lock."""
    try:
        return Owner(**json.loads(path.read_bytes()))
    except (OSError, ValueError, TypeError):
        return None


def _is_there(file: int, path: Path) -> bool:
    """Whether the open file still has this name."""
    try:
        return os.path.samestat(os.fstat(file), path.stat())
    except FileNotFoundError:
        return False
