"""Many lines, counted by several processes at once: the same counts as in one, since every line is counted by itself.

The processes are fresh interpreters that import the metrics and nothing else. They are not forked, since a fork of a
process with threads or a GPU may hang, and they do not run the main program again, as Python's own would.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from queue import SimpleQueue
from typing import Any

from regard.errors import RegardError
from regard.metrics.metric import Counts, Options, References

LINES_EACH = 1000  # for fewer, starting a process takes longer than counting
_CHUNK = 100  # lines that a process gets at a time
_CHILD = "import sys; sys.path[:] = {path!r}; from regard.metrics.parallel import serve; serve()"

_Process = subprocess.Popen[bytes]


def processes_for(lines: int) -> int:
    """How many processes are worth starting for so many lines; 1: none but this one."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(cores, lines // LINES_EACH)) if sys.executable else 1


def counted_by(
    processes: int, names: Sequence[str], options: Options, hypotheses: Sequence[str], references: References
) -> list[list[Counts]]:
    """For each metric, what it counts in each line."""
    starts = range(0, len(hypotheses), _CHUNK)
    with ExitStack() as stack:
        free: SimpleQueue[_Process] = SimpleQueue()
        for _ in range(processes):
            free.put(stack.enter_context(_started()))

        def work(start: int) -> list[list[Counts]]:
            process, end = free.get(), start + _CHUNK
            try:
                return _asked(process, (names, options, hypotheses[start:end], references[start:end]))
            finally:
                free.put(process)

        with ThreadPoolExecutor(processes) as pool:
            found = list(pool.map(work, starts))
    return [[line for chunk in found for line in chunk[number]] for number in range(len(names))]


def serve() -> None:
    """What such a process does: it answers each line with a line, both JSON, until nothing more is asked."""
    from regard.metrics import metric

    with suppress(KeyboardInterrupt):
        for question in sys.stdin:
            names, options, hypotheses, references = json.loads(question)
            answer: Any
            try:
                answer = [metric(name, Options(*options)).counts(hypotheses, references) for name in names]
            except Exception as error:  # noqa: BLE001
                answer = str(error) or type(error).__name__
            sys.stdout.write(json.dumps(answer) + "\n")
            sys.stdout.flush()


@contextmanager
def _started() -> Iterator[_Process]:
    """A process that serves; it ends with the block."""
    command = [sys.executable, "-c", _CHILD.format(path=sys.path)]
    pipe, nothing = subprocess.PIPE, subprocess.DEVNULL
    process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=nothing)  # noqa: S603
    try:
        yield process
    finally:
        process.kill()
        with suppress(OSError):
            process.communicate()


def _asked(process: _Process, question: Any) -> list[list[Counts]]:
    assert process.stdin
    assert process.stdout
    try:
        process.stdin.write(json.dumps(question).encode() + b"\n")
        process.stdin.flush()
        answer = json.loads(process.stdout.readline())
    except (OSError, ValueError):
        raise RegardError(
            "A process that counts for the scores was ended from outside.\n"
            "  Perhaps memory is short: end other programs, and try again."
        ) from None
    if isinstance(answer, str):
        raise RegardError(f"Counting for the scores failed: {answer}")
    counts: list[list[Counts]] = answer
    return counts
