"""Lines from standard input, in windows: what has arrived is passed on when no more follows within milliseconds.

So a program that writes a line and waits for its translation gets it at once, and fast input comes in large windows.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from queue import Empty, Queue
from threading import Thread
from typing import NamedTuple

from regard.errors import RegardError

WINDOW = 512  # lines that are translated together at most

_NAME = Path("standard input")  # in messages
_BLOCK = 1 << 16
_AHEAD = 4 * WINDOW  # lines that may wait
_PAUSE = 0.01  # seconds


class _End(NamedTuple):
    """No more lines follow, because of an error if there is one."""

    error: Exception | None = None


def windows(encoding: str | None = None) -> Iterator[list[str]]:
    """The lines in order, at most `WINDOW` at a time. Lines before an error come before it."""
    arrived: Queue[str | _End] = Queue(_AHEAD)
    Thread(target=_read, args=(arrived, encoding), daemon=True).start()
    while True:
        window: list[str] = []
        item = arrived.get()
        while isinstance(item, str):
            window.append(item)
            if len(window) == WINDOW:
                break
            try:
                item = arrived.get(timeout=_PAUSE)
            except Empty:
                break
        if window:
            yield window
        if isinstance(item, _End):
            if item.error:
                raise item.error
            return


def _read(arrived: Queue[str | _End], encoding: str | None) -> None:
    from regard.text.bad_input import BadInput
    from regard.text.files import lines_in, transcoded

    source = blocks() if encoding is None else transcoded(blocks(), encoding, _NAME)
    try:
        first = next(source, b"")
        for line in lines_in(chain([first], source), _NAME, BadInput()) if first else ():
            assert line is not None, "bad lines raise"
            arrived.put(line)
    except (RegardError, OSError) as error:
        arrived.put(_End(error))
    else:
        arrived.put(_End())


def blocks() -> Iterator[bytes]:
    """What has arrived, without waiting for more. The unbuffered stream has no lock that could block the exit."""
    stream = getattr(sys.stdin.buffer, "raw", sys.stdin.buffer)
    while block := stream.read(_BLOCK):
        yield block
