"""The seconds before a training's first step, phase by phase, on your own files.

    python benchmarks/startup.py DATA... --source en --target de [--preset base] [--steps 3] [--set key=value]

It trains for some steps in a new folder with an empty cache, as `regard train` does with `--preset auto`, and times the
functions that follow each other. The last phase is everything before the first step that the others do not cover:
building the model, compiling it and capturing a step.
"""

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

PHASES: list[tuple[str, float, float]] = []  # name, start, end


def timed(module: Any, name: str, phase: str) -> None:
    """Replaces a function of a module by one that notes its time."""
    function: Callable[..., Any] = getattr(module, name)

    def wrapped(*given: Any, **more: Any) -> Any:
        began = time.perf_counter()
        try:
            return function(*given, **more)
        finally:
            PHASES.append((phase, began, time.perf_counter()))

    setattr(module, name, wrapped)


def main() -> None:
    began = time.perf_counter()
    parser = argparse.ArgumentParser()
    parser.add_argument("data", nargs="+")
    parser.add_argument("--source", default="en")
    parser.add_argument("--target", default="de")
    parser.add_argument("--preset", default="auto")
    parser.add_argument("--device")
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--set", action="append", default=[], dest="settings")
    options = parser.parse_args()

    from regard.batches import gathering, preparation
    from regard.training import corpora, loop, optimisation, train

    PHASES.append(("imports", began, time.perf_counter()))
    timed(gathering, "_gather", "reading the files")
    timed(gathering.Gathered, "statistics", "statistics for the advice")
    timed(corpora, "train_tokenisers", "training the tokeniser")
    timed(preparation, "_key", "hashing the files")
    timed(preparation, "_store", "tokenising and storing")
    timed(corpora, "hold_out", "holding pairs out")
    timed(optimisation.Optimisation, "try_shapes", "compiling and trying shapes")
    timed(optimisation.Optimisation, "step", "step")
    timed(loop.Trainer, "save", "checkpoint")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["REGARD_CACHE"] = str(Path(folder) / "cache")
        train.train(
            *options.data, out=Path(folder) / "model", source=options.source, target=options.target,
            preset=options.preset, steps=options.steps, device=options.device, settings=options.settings,
        )  # fmt: skip
    report(began)


def report(began: float) -> None:
    steps = [(start, end) for name, start, end in PHASES if name == "step"]
    first_step, first_end = steps[0]
    before = [(name, end - start) for name, start, end in PHASES if end <= first_step]
    covered = sum(seconds for _, seconds in before)
    for name, seconds in before:
        print(f"{name:<32}{seconds:8.1f} s")
    print(f"{'everything else':<32}{first_step - began - covered:8.1f} s")
    print(f"{'before the first step':<32}{first_step - began:8.1f} s")
    print(f"{'the first step (captured)':<32}{first_end - first_step:8.1f} s")


if __name__ == "__main__":
    main()
