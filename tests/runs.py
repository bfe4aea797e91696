"""Small training runs for tests: reversing words, seconds on a CPU."""

import contextlib
import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

TRANSFORMER = (
    "model.encoder_layers=1",
    "model.decoder_layers=1",
    "model.d_model=16",
    "model.d_ff=32",
    "model.heads=2",
    "model.d_k=8",
    "model.d_v=8",
)
TRAINING = (
    "tokeniser.kind=words",
    "tokeniser.options={}",
    "training.batch_tokens=160",
    "training.row_lengths=[16,32]",
    "training.warmup=20",
    "training.averaged_checkpoints=3",
    "validation.every=10",
    "validation.translate_every=2",
    "validation.pairs=10",
)
SMALL = (*TRANSFORMER, *TRAINING)


def corpus(path: Path, *, pairs: int = 300, seed: int = 0) -> Path:
    """Sentences of made-up words, and the same backwards."""
    draw = random.Random(seed)  # noqa: S311
    words = [f"w{number}" for number in range(20)]
    lines = []
    for _ in range(pairs):
        sentence = [draw.choice(words) for _ in range(draw.randint(1, 8))]
        lines.append(f"{' '.join(sentence)}\t{' '.join(sentence[::-1])} x\n")
    path.write_text("".join(lines), encoding="utf-8")
    return path


def options(
    data: Path, out: Path, *more: str, settings: tuple[str, ...] = (), small: tuple[str, ...] = SMALL
) -> list[str]:
    """The arguments of a small `regard train`; another architecture needs other `small` settings."""
    sets = [part for setting in (*small, *settings) for part in ("--set", setting)]
    return ["train", str(data), "--source", "en", "--target", "de", "--out", str(out), "--preset", "tiny", *sets, *more]


def environment(cache: Path) -> dict[str, str]:
    return os.environ | {"REGARD_CACHE": str(cache), "OMP_NUM_THREADS": "1", "NO_COLOR": "1"}


def command(
    data: Path, out: Path, *more: str, settings: tuple[str, ...] = (), small: tuple[str, ...] = SMALL
) -> list[str]:
    return [sys.executable, "-m", "regard", *options(data, out, *more, settings=settings, small=small)]


def run(
    data: Path, out: Path, *more: str, settings: tuple[str, ...] = (), small: tuple[str, ...] = SMALL
) -> subprocess.CompletedProcess[str]:
    """A run in this process, which spares it the import of PyTorch; `command` is for one of its own."""
    return here(options(data, out, *more, settings=settings, small=small), data.parent / "cache")


def here(
    arguments: list[str], cache: Path, *, folder: Path | None = None, **more: str
) -> subprocess.CompletedProcess[str]:
    """The command `regard` in this process, as if it had one of its own: in a folder, with more in its environment."""
    from regard.cli import main

    own = {"REGARD_CACHE": str(cache), "NO_COLOR": "1", **more}
    before, code = sys.argv, 0
    with contextlib.chdir(folder or Path.cwd()), CliRunner().isolation(env=own) as (out, err, _):
        sys.argv = ["regard", *arguments]
        try:
            main()
        except SystemExit as ended:
            code = int(ended.code or 0)
        finally:
            sys.argv = before
        sys.stdout.flush()
        sys.stderr.flush()
        told = [stream.getvalue().decode() for stream in (out, err)]
    return subprocess.CompletedProcess(arguments, code, *told)


_SIGNALS_ITSELF = """
import os, sys
number, moment, folder = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
moments = iter(range(1, moment + 1))

def watch(event, given):
    touches = event in ("open", "os.rename", "shutil.rmtree") and any(str(part).startswith(folder) for part in given)
    if touches and next(moments, None) == moment:
        os.kill(os.getpid(), number)

sys.addaudithook(watch)
sys.argv[1:] = sys.argv[4:]
from regard.cli import main
main()
"""


def run_and_signal(data: Path, out: Path, *more: str, number: int, moment: int) -> subprocess.CompletedProcess[str]:
    """A run that sends itself a signal when it is about to touch a file of its checkpoints for the so many-th time."""
    watched = [str(number), str(moment), str(out / "training" / "checkpoints")]
    return subprocess.run(
        [sys.executable, "-c", _SIGNALS_ITSELF, *watched, *options(data, out, *more)],
        capture_output=True, text=True, env=environment(data.parent / "cache"), check=False, timeout=300,
    )  # fmt: skip


def events(out: Path, kind: str) -> list[dict[str, Any]]:
    """The events of one kind in a run's metrics.jsonl."""
    lines = (json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines())
    return [line for line in lines if line["event"] == kind]
