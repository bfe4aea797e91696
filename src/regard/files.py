"""The one way a file or folder is written: whole or not at all.

It is written beside its place under a hidden name, `.NAME.*.partial`, flushed to the disk, and moved. A writer holds a
lock on what it writes. What a writer that was killed has left is therefore not locked, on this machine or another, and
the next writer of the same place deletes it.
"""

from __future__ import annotations

import ctypes
import os
import secrets
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

if sys.platform != "win32":
    import fcntl

COPY_AGAIN = "Copy the folder again from its origin, or train the model again."  # advice where a file is damaged

_EXCHANGE, _FROM_THE_WORKING_FOLDER = 2, -100  # linux/fs.h: RENAME_EXCHANGE; fcntl.h: AT_FDCWD


@contextmanager
def new_file(path: Path) -> Iterator[BinaryIO]:
    """A new file, moved to `path` when the block ends; a file that is there is replaced.

    A pipe or a device, such as /dev/stdout, is written to as it is.
    """
    if path.exists() and not path.is_file():
        with path.open("wb") as file:
            yield file
        return
    path = path.resolve()
    _sweep(path)
    partial = _beside(path, "new")
    try:
        with partial.open("xb") as file:
            partial = _locked(partial, file.fileno())
            yield file
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


@contextmanager
def new_folder(place: Path) -> Iterator[Path]:
    """A new folder, moved to `place` when the block ends; a folder that is there is replaced.

    Folders above it are made. On Linux, there is no moment without the old folder or the new one.
    """
    place = place.resolve()
    place.parent.mkdir(parents=True, exist_ok=True)
    _sweep(place)
    partial = _beside(place, "new")
    partial.mkdir()
    try:
        with _opened(partial) as descriptor:
            partial = _locked(partial, descriptor)
            yield partial
            for path in partial.rglob("*"):
                with _opened(path) as written:
                    os.fsync(written)
            _put(partial, place)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def write(path: Path, content: str | bytes) -> None:
    """A file with this content; text is UTF-8."""
    with new_file(path) as file:
        file.write(content.encode() if isinstance(content, str) else content)


def remove_folder(place: Path) -> None:
    """Deletes a folder, if it is there: all of it is gone from its place at once, and then from the disk."""
    gone = place.with_name(f".{place.name}.removed")
    shutil.rmtree(gone, ignore_errors=True)
    if place.exists():
        place.replace(gone)
    shutil.rmtree(gone, ignore_errors=True)


def _beside(path: Path, ending: str) -> Path:
    return path.with_name(f".{path.name}.{secrets.token_hex(4)}.{ending}")


def _locked(new: Path, descriptor: int) -> Path:
    """Its name from now on: other writers do not touch it before it is locked, nor after."""
    _lock(descriptor)
    return new.replace(new.with_suffix(".partial"))


def _put(partial: Path, place: Path) -> None:
    """Moves a folder to its place; a former one is then at `partial`, or gone.

    Where two folders cannot be exchanged in one step (macOS, NFS), the former one waits under a name that `put_back`
    knows, so that a crash between two steps loses neither.
    """
    if not place.is_dir():
        partial.replace(place)
    elif not _exchanged(partial, place):
        former = _former(place)
        shutil.rmtree(former, ignore_errors=True)
        place.replace(former)
        try:
            partial.replace(place)
        except BaseException:
            former.replace(place)
            raise
        shutil.rmtree(former, ignore_errors=True)


def put_back(place: Path) -> Path:
    """The `place`, with its former folder in it again where a crash came before the new one stood there."""
    if not place.exists() and _former(place).exists():
        _former(place).replace(place)
    return place


def _former(place: Path) -> Path:
    return place.with_name(f".{place.name}.former")


def _exchanged(one: Path, other: Path) -> bool:
    """Swaps two folders in one step; False where the system or the file system cannot."""
    try:
        rename = ctypes.CDLL(None).renameat2
    except (AttributeError, OSError, TypeError):
        return False
    here = _FROM_THE_WORKING_FOLDER
    return bool(rename(here, os.fsencode(one), here, os.fsencode(other), _EXCHANGE) == 0)


def _sweep(path: Path) -> None:
    """Deletes what writers of this place have left that are no more."""
    for left in path.parent.glob(f".{_escaped(path.name)}.????????.partial"):
        with suppress(OSError), _opened(left) as descriptor:
            if _lock(descriptor):
                shutil.rmtree(left) if left.is_dir() else left.unlink()


def _escaped(name: str) -> str:
    return "".join(f"[{character}]" if character in "*?[" else character for character in name)


def _lock(descriptor: int) -> bool:
    """Locks an open file or folder until it is closed; False where another has locked it, or nothing can be locked."""
    if sys.platform == "win32":
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


@contextmanager
def _opened(path: Path) -> Iterator[int]:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
