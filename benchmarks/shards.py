"""A million lines in shards: 1, 2 and 4 processes, Ray, and twenty kills at random moments; the same bytes each time.

    python benchmarks/shards.py
    python benchmarks/shards.py --folder made --processes 1 4
    python benchmarks/shards.py --folder made --processes 2 --ray --kills 20

`--folder` keeps the model, the text and the output, so that what is measured later must have the same bytes, too.

The model is tiny and trained here in seconds on made-up words, the lines have one to five of these words, the search is
greedy, and translations are not checked: so a million lines take minutes, and the shards, leases and files are a larger
part of the work than with a real model. `--model` and `--text` measure a real one.

Each process computes on one thread. More processes than cores show only that nothing is lost. Without --shards, equal
lines are translated once in the whole file, not once in each shard, and other sentences share a batch, so CTranslate2
may round otherwise: where two words are nearly as likely, another one wins.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import zstandard

WORDS = [first + second for first in ("al", "be", "ca", "du", "es", "fo") for second in ("to", "rin", "mel", "gan")]
TINY = {
    "model.encoder_layers": 2, "model.decoder_layers": 2, "model.d_model": 48, "model.d_ff": 96, "model.heads": 4,
    "model.d_k": 12, "model.d_v": 12, "tokeniser.vocabulary": 300, "training.batch_tokens": 1000,
    "training.row_lengths": "[32]", "training.warmup": 40, "training.peak_rate": 0.005, "validation.every": 100,
    "validation.pairs": 10, "training.averaged_checkpoints": 1,
}  # fmt: skip
ALONE = os.environ | {"OMP_NUM_THREADS": "1", "NO_COLOR": "1"}


def sentences(count: int, seed: int) -> list[list[str]]:
    draw = random.Random(seed)  # noqa: S311
    return [[draw.choice(WORDS) for _ in range(draw.randint(1, 5))] for _ in range(count)]


def made_model(folder: Path) -> Path:
    """A model that reverses words and writes them in capitals."""
    pairs = folder / "pairs.tsv"
    pairs.write_text("".join(f"{' '.join(one)}\t{' '.join(one[::-1]).upper()}\n" for one in sentences(3000, 1)))
    sets = [part for name, value in TINY.items() for part in ("--set", f"{name}={value}")]
    out = folder / "model"
    if out.exists():
        return out
    told = ["--source", "xa", "--target", "xb", "--preset", "tiny", "--steps", "300", "--device", "cpu"]
    regard("train", pairs, "--out", out, *told, *sets)
    return out


def made_text(folder: Path, lines: int) -> Path:
    path = folder / "big.txt.zst"
    text = "".join(f"{' '.join(one)}\n" for one in sentences(lines, 2))
    path.write_bytes(zstandard.ZstdCompressor().compress(text.encode()))
    return path


def regard(*arguments: object) -> None:
    subprocess.run(
        [sys.executable, "-m", "regard", *map(str, arguments)], env=ALONE, check=True, capture_output=True, text=True
    )


class Job:
    """The same translation again and again, in a folder of its own each time."""

    def __init__(self, folder: Path, model: str, text: Path, lines: int) -> None:
        self.folder, self.lines = folder, lines
        self.command = [sys.executable, "-m", "regard", "translate", model, str(text), "--beam-size", "1"]
        self.command += ["--device", "cpu", "--no-checks"]
        self.expected = self.folder / "expected.txt"
        self._runs = 0

    def new(self) -> tuple[Path, list[str]]:
        """An output file, and the command that writes it by shards."""
        self._runs += 1
        out, shards = self.folder / f"out-{self._runs}.txt", self.folder / f"shards-{self._runs}"
        shutil.rmtree(shards, ignore_errors=True)
        return out, [*self.command, "--out", str(out), "--shards", str(shards)]

    def row(self, what: str, seconds: float, out: Path) -> None:
        if not self.expected.exists():
            shutil.copy(out, self.expected)
        found, expected = (path.read_bytes().splitlines(keepends=True) for path in (out, self.expected))
        other = sum(one != another for one, another in zip(found, expected, strict=True))
        same = f"{other:,} other lines" if other else "the same bytes"
        print(f"| {what} | {seconds:.0f} | {self.lines / seconds:,.0f} | {same} |", flush=True)
        out.unlink()
        if other and "without" not in what:
            sys.exit("The output differs from the first one.")


def together(command: list[str], count: int) -> float:
    """Seconds until so many processes that work on the same shards have all ended."""
    began = time.monotonic()
    started = [subprocess.Popen(command, env=ALONE, stderr=subprocess.DEVNULL) for _ in range(count)]
    codes = [process.wait() for process in started]
    assert codes == [0] * count, codes
    return time.monotonic() - began


def killed(job: Job, kills: int, gap: float) -> None:
    """Two processes, one of which is killed (kill -9) at random moments and started again at once."""
    draw, left, runs = random.Random(3), kills, 0  # noqa: S311
    while left:
        out, command = job.new()
        began, before = time.monotonic(), left
        started = [subprocess.Popen(command, env=ALONE, stderr=subprocess.DEVNULL) for _ in range(2)]
        while left and not out.exists():
            time.sleep(draw.uniform(0.1, 2 * gap))
            victim = draw.randrange(2)
            if started[victim].poll() is None:
                started[victim].kill()
                started[victim].wait()
                left -= 1
            started[victim] = subprocess.Popen(command, env=ALONE, stderr=subprocess.DEVNULL)
        codes = [process.wait() for process in started]
        assert codes == [0, 0], codes
        runs += 1
        job.row(f"2, {before - left} kills at random moments", time.monotonic() - began, out)
    print(f"\n{kills} kills in {runs} runs; seeds are fixed, moments are not: processes differ in speed.")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--gap", type=float, default=2.5, help="mean seconds between two kills")
    parser.add_argument("--processes", type=int, nargs="*", default=[1, 2, 4])
    parser.add_argument("--ray", action="store_true", help="also by --ray local")
    parser.add_argument("--without", action="store_true", help="also by one process without --shards")
    parser.add_argument("--folder", type=Path, help="a folder to keep instead of a temporary one")
    parser.add_argument("--model", help="a model folder or the name of a shipped model")
    parser.add_argument("--text", type=Path, help="a text file; --lines is then ignored")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="shards-") as made:
        folder = asked.folder or Path(made)
        folder.mkdir(exist_ok=True)
        text = asked.text or made_text(folder, asked.lines)
        lines = asked.lines if not asked.text else sum(1 for _ in asked.text.open("rb"))
        job = Job(folder, asked.model or str(made_model(folder)), text, lines)
        print(f"{lines:,} lines, {len(os.sched_getaffinity(0))} cores, one thread a process\n")
        print("| processes | seconds | lines/s | output |\n| --- | --- | --- | --- |", flush=True)
        for count in asked.processes:
            out, command = job.new()
            job.row(str(count), together(command, count), out)
        if asked.ray:
            out, command = job.new()
            job.row("--ray local", together([*command, "--ray", "local"], 1), out)
        if asked.kills:
            killed(job, asked.kills, asked.gap)
        if asked.without:
            out, _ = job.new()
            job.row("1, without --shards", together([*job.command, "--out", str(out)], 1), out)


if __name__ == "__main__":
    main()
