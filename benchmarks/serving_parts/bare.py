"""The engine without a server: a Translator that has many sentences at once, in a process of its own.

    echo "2.5" | python serving_parts/bare.py MODEL ENGINE TEXTS.json

reads how many seconds to translate, a number a line, and answers each with the sentences/s. In between it sleeps, so
that a server can be measured in turn with it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

_TOGETHER = 256  # sentences


class Bare:
    """Such a process, on as many cores as the server has."""

    def __init__(self, model: str, engine: str, texts: list[str]) -> None:
        self._file = tempfile.NamedTemporaryFile("w", suffix=".json")  # noqa: SIM115  open as long as this is
        json.dump(texts[:_TOGETHER], self._file)
        self._file.flush()
        command = [sys.executable, __file__, model, engine, self._file.name]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)

    def rate(self, seconds: float) -> float:
        """Sentences/s in so many seconds."""
        assert self._process.stdin
        assert self._process.stdout
        print(seconds, file=self._process.stdin, flush=True)
        return float(self._process.stdout.readline())

    def close(self) -> None:
        """Ends the process."""
        self._process.communicate()
        self._file.close()


def main(model: str, engine: str, file: str) -> None:
    import regard

    texts = json.loads(Path(file).read_text(encoding="utf-8"))
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
