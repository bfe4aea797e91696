"""Ctrl-C ends a command promptly, even while a library computes for seconds without returning to Python."""

from __future__ import annotations

import os
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread

_GRACE = 0.5  # seconds in which Python may react by itself
_INTERRUPTED = 130  # the exit status that shells use for Ctrl-C
_SHOW_CURSOR = "\x1b[?25h"


@contextmanager
def prompt() -> Iterator[None]:
    """Within this context an interrupt ends the process after half a second, if Python has not reacted before.

    A thread waits for the signal. It runs because libraries release Python's lock while they compute.
    """
    receiver, sender = socket.socketpair()
    sender.setblocking(False)
    former = signal.set_wakeup_fd(sender.fileno(), warn_on_full_buffer=False)
    ended = Event()
    Thread(target=_wait, args=(receiver, ended), daemon=True).start()
    try:
        yield
    finally:
        ended.set()
        signal.set_wakeup_fd(former)
        sender.close()


def _wait(receiver: socket.socket, ended: Event) -> None:
    with receiver:
        while number := receiver.recv(1):
            if number[0] == signal.SIGINT and not ended.wait(_GRACE):
                if sys.stderr.isatty():
                    os.write(sys.stderr.fileno(), _SHOW_CURSOR.encode())
                os._exit(_INTERRUPTED)
