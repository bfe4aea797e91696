"""The engine without a server: a Translator that has many sentences at once, in a process of its own.

    python serving_parts/bare.py MODEL ENGINE

reads the sentences, a line of JSON, and then how many seconds to translate them, a number a line. It answers each with
the sentences/s. In between it sleeps, so that a server can be measured in turn with it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time

_TOGETHER = 256  # sentences


class Bare:
    """Such a process, on as many cores as the server has."""

    def __init__(self, model: str, engine: str, texts: list[str]) -> None:
        command = [sys.executable, __file__, model, engine]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._tell(json.dumps(texts[:_TOGETHER]))

    def rate(self, seconds: float) -> float:
        """Sentences/s in so many seconds."""
        self._tell(str(seconds))
        assert self._process.stdout
        return float(self._process.stdout.readline())

    def close(self) -> None:
        """Ends the process."""
        self._process.communicate()

    def _tell(self, line: str) -> None:
        assert self._process.stdin
        print(line, file=self._process.stdin, flush=True)


def main(model: str, engine: str) -> None:
    import regard

    texts = json.loads(sys.stdin.readline())
    translator = regard.load(model, engine=engine, device="cpu")
    if hasattr(translator.engine, "use_workers"):
        translator.engine.use_workers(len(os.sched_getaffinity(0)))
    translator.translate(texts)
    for line in sys.stdin:
        began, count = time.monotonic(), 0
        while time.monotonic() < began + float(line):
            translator.translate(texts)
            count += len(texts)
        print(count / (time.monotonic() - began), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
