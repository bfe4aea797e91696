"""How a folder takes the place of another: at every moment, the old one or the new one is there, whole."""

from __future__ import annotations

import ctypes
import os
import shutil
from pathlib import Path

_HERE = -100  # AT_FDCWD: paths begin at the working directory
_EXCHANGE = 2  # RENAME_EXCHANGE


def put_in_place(written: Path, place: Path) -> None:
    """Moves the folder `written` to `place`, on the same disk, and then deletes the folder that was there.

    Linux exchanges two folders in one operation on local disks. Elsewhere (macOS, NFS) the old folder waits beside the
    new one under the name that `put_back` knows, so that a crash between two operations loses neither.
    """
    if not place.exists():
        written.replace(place)
    elif _exchanged(written, place):
        shutil.rmtree(written)
    else:
        former = _former(place)
        shutil.rmtree(former, ignore_errors=True)
        place.replace(former)
        written.replace(place)
        shutil.rmtree(former)


def put_back(place: Path) -> Path:
    """The `place`, with the old folder in it again where a crash came before the new one stood."""
    if not place.exists() and _former(place).exists():
        _former(place).replace(place)
    return place


def _former(place: Path) -> Path:
    return place.with_name(f".{place.name}.former")


def _exchanged(one: Path, other: Path) -> bool:
    """Exchanges two folders in one operation; False where the system or the disk cannot."""
    rename = getattr(ctypes.CDLL(None), "renameat2", None)
    if rename is None:
        return False
    return int(rename(_HERE, os.fsencode(one), _HERE, os.fsencode(other), ctypes.c_uint(_EXCHANGE))) == 0
