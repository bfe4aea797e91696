"""Who holds something that several processes share: a process on a machine, and whether it still runs."""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple

_PROCESSES = Path("/proc")


class Owner(NamedTuple):
    """A process. Where the system has no /proc, `system` and `started` are empty."""

    process: int
    machine: str
    system: str = ""  # this start of the machine, and the namespace in which the process has its number
    started: str = ""  # when; a later process may have the same number

    def __str__(self) -> str:
        return f"process {self.process} on {self.machine}"

    @property
    def is_here(self) -> bool:
        """Whether it runs, or ran, on this machine, so that its number means something here."""
        return (self.machine, self.system) == (socket.gethostname(), _system())

    @property
    def is_alive(self) -> bool:
        """Whether a process of this machine still runs."""
        if self.started:
            return _started(self.process) == self.started
        try:
            os.kill(self.process, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
        return True


def this_process() -> Owner:
    """The process that asks."""
    return Owner(os.getpid(), socket.gethostname(), _system(), _started(os.getpid()))


@cache
def _system() -> str:
    with suppress(OSError):
        boot = (_PROCESSES / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot} {(_PROCESSES / 'self/ns/pid').stat().st_ino}"
    return ""


def _started(process: int) -> str:
    """When a process began, in the clock ticks of the system; empty where it is gone, or nobody can know."""
    with suppress(OSError, ValueError, IndexError):
        stat = (_PROCESSES / str(process) / "stat").read_text(encoding="utf-8", errors="replace")
        state, *fields = stat.rpartition(")")[2].split()
        return "" if state == "Z" else fields[18]
    return ""
