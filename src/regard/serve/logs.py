"""Logs: one JSON object a line on standard error. They have neither texts nor keys nor query strings."""

from __future__ import annotations

import json
import sys
import time
import traceback
from threading import Lock
from typing import Any, TextIO

_LEVELS = ("debug", "info", "warning", "error")


class Log:
    """Writes events: at once, unless `delays` is set and the event is an ordinary one; then `write` must follow."""

    def __init__(self, stream: TextIO | None = None, *, level: str = "info") -> None:
        self._stream, self._lowest, self._lock = stream, _LEVELS.index(level), Lock()
        self._lines: list[str] = []
        self.delays = False

    def info(self, event: str, **fields: Any) -> None:
        """Something that happened as it should."""
        self._note("info", event, fields)

    def warning(self, event: str, **fields: Any) -> None:
        """Something that an operator should know."""
        self._note("warning", event, fields)

    def error(self, event: str, error: BaseException | None = None, **fields: Any) -> None:
        """Something that broke: the kind of the error and where, without its message, which may quote a text."""
        if error is not None:
            frames = traceback.extract_tb(error.__traceback__)[-6:]
            where = [f"{frame.filename.rsplit('/', 1)[-1]}:{frame.lineno} {frame.name}" for frame in frames]
            fields = {"error": type(error).__name__, "where": where} | fields
        self._note("error", event, fields)

    def write(self) -> None:
        """Writes what was delayed."""
        with self._lock:
            lines, self._lines = self._lines, []
            if lines:
                print("\n".join(lines), file=self._stream or sys.stderr, flush=True)

    def _note(self, level: str, event: str, fields: dict[str, Any]) -> None:
        if _LEVELS.index(level) < self._lowest:
            return
        now = time.time()
        when = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now)) + f".{int(now % 1 * 1000):03d}Z"
        line = json.dumps({"time": when, "level": level, "event": event} | fields, ensure_ascii=True, default=str)
        with self._lock:
            self._lines.append(line)
        if level != "info" or not self.delays:
            self.write()
