"""The seconds before a training's first step, phase by phase, on your own files.

    python benchmarks/startup.py DATA... --source en --target de [--preset base] [--steps 3] [--set key=value]

It trains for some steps with an empty cache, as `regard train` does with `--preset auto`, and times the functions that
follow each other. The last phase is everything before the first step that the others do not cover: building the model,
compiling it and capturing a step. The model goes to --out, or nowhere; the times are printed when the first step ends.
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
    parser.add_argument("--out", type=Path, help="where the model stays")
    parser.add_argument("--set", action="append", default=[], dest="settings")
    options = parser.parse_args()

    from regard.batches import gathering, preparation
    from regard.training import optimisation, train
    from regard.training.tasks import translation

    PHASES.append(("imports", began, time.perf_counter()))
    timed(gathering, "_gather", "reading the files")
    timed(gathering.Gathered, "statistics", "statistics for the advice")
    timed(translation, "train_tokenisers", "training the tokeniser")
    timed(preparation, "_key", "hashing the files")
    timed(preparation, "_store", "tokenising and storing")
    timed(translation, "hold_out", "holding pairs out")
    timed(optimisation.Optimisation, "try_shapes", "compiling and trying shapes")
    step = optimisation.Optimisation.step

    def first(*given: Any, **more: Any) -> Any:
        optimisation.Optimisation.step = step  # type: ignore[method-assign]
        start = time.perf_counter()
        try:
            return step(*given, **more)
        finally:
            report(began, start, time.perf_counter())

    optimisation.Optimisation.step = first  # type: ignore[method-assign]
    with tempfile.TemporaryDirectory() as folder:
        os.environ["REGARD_CACHE"] = str(Path(folder) / "cache")
        train.train(
            *options.data, out=options.out or Path(folder) / "model", source=options.source, target=options.target,
            preset=options.preset, steps=options.steps, device=options.device, settings=options.settings,
        )  # fmt: skip


def report(began: float, first_step: float, first_end: float) -> None:
    before = [(name, end - start) for name, start, end in PHASES if end <= first_step]
    covered = sum(seconds for _, seconds in before)
    for name, seconds in before:
        print(f"{name:<32}{seconds:8.1f} s")
    print(f"{'everything else':<32}{first_step - began - covered:8.1f} s")
    print(f"{'before the first step':<32}{first_step - began:8.1f} s")
    print(f"{'the first step':<32}{first_end - first_step:8.1f} s", flush=True)


if __name__ == "__main__":
    main()
