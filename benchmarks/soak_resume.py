"""Twenty real kills at random moments, and the same bytes at the end.

    python benchmarks/soak_resume.py [--kills 20] [--seed 1]

Trains a small model by `regard train`, kills it with SIGKILL again and again, some of the kills while a checkpoint is
being written, goes on with --resume, and compares the final weights with those of a run that nothing disturbed.
"""

import argparse
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from runs import command, corpus, environment, run

SETTINGS = ("model.d_model=256", "model.d_ff=512", "model.d_k=128", "model.d_v=128")  # larger checkpoints


def writing(out: Path) -> bool:
    """Whether a checkpoint is being written right now."""
    return any((out / "training" / "checkpoints").glob(".*.partial"))


def killed(arguments: list[str], out: Path, draw: random.Random, cache: Path, *, in_a_write: bool) -> str | None:
    """Runs until a random moment, or until a checkpoint is being written, and kills; None where it ended before."""
    process = subprocess.Popen(arguments, env=environment(cache), stderr=subprocess.DEVNULL)
    time.sleep(2.0 + 6.0 * draw.random())
    while in_a_write and process.poll() is None and not writing(out):
        time.sleep(0.0005)
    if process.poll() is not None:
        return None
    process.send_signal(signal.SIGKILL)
    process.wait()
    return "while a checkpoint was written" if writing(out) else "between checkpoints"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    draw = random.Random(options.seed)  # noqa: S311
    more = ("--steps", str(options.steps), "--checkpoint-every", "10", "--set", "validation.every=200")
    moments: dict[str, int] = {}
    with tempfile.TemporaryDirectory() as name:
        data = corpus(Path(name) / "pairs.tsv")
        whole, out = Path(name) / "whole", Path(name) / "killed"
        began = time.monotonic()
        told = run(data, whole, *more, settings=SETTINGS)
        assert told.returncode == 0, told.stderr
        undisturbed = time.monotonic() - began
        arguments = command(data, out, *more, "--resume", settings=SETTINGS)
        kills = 0
        while kills < options.kills:
            moment = killed(arguments, out, draw, data.parent / "cache", in_a_write=kills % 2 == 1)
            if moment is None:
                break
            moments[moment] = moments.get(moment, 0) + 1
            kills += 1
        told = run(data, out, *more, "--resume", settings=SETTINGS)
        assert told.returncode == 0, told.stderr
        same = all(
            (whole / part / "weights.safetensors").read_bytes() == (out / part / "weights.safetensors").read_bytes()
            for part in (".", "best")
        )
    table = Table("kills", *moments, "undisturbed run", "final weights")
    verdict = "the same bytes" if same else "DIFFERENT"
    table.add_row(str(kills), *map(str, moments.values()), f"{undisturbed:.0f} s", verdict)
    Console(width=120).print(table)
    sys.exit(not same)


if __name__ == "__main__":
    main()
