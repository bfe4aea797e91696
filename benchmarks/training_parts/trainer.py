"""Part "trainer": `regard train` itself, as a person starts it, with validation by default and checkpoints more often.

It runs in a process of its own, twice: first with empty caches, to the end of its steps, and then to its first step.
What it writes into metrics.jsonl is read as it is written, so the times are those of the clock on the wall.
"""

from __future__ import annotations

import json
import os
import shlex
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import regard
from training_parts import corpora
from training_parts.ours import Workshop
from training_parts.scale import Scale

STEADY_FROM = 200  # steps; before them things are still being compiled, allocated and filled
KEPT, START = 0.95, 90  # of the benchmark's speed; seconds to the first step
CHECKPOINTS = 3


class Event(NamedTuple):
    """A line of metrics.jsonl, and when it came, in seconds after the command."""

    at: float
    told: dict[str, Any]

    def is_step(self) -> bool:
        return self.told["event"] == "stepped"


def measure(shop: Workshop) -> None:
    """Prints how fast the trainer is and how soon it starts."""
    scale, folder = shop.scale, shop.folder / "trainer"
    folder.mkdir()
    began = time.monotonic()
    pairs = corpora.written(folder / "pairs.tsv", scale)
    print(f"{scale.trained_pairs:,} pairs of made-up words written in {time.monotonic() - began:.1f} s", flush=True)

    def whole(event: Event) -> bool:
        return event.told["event"] == "saved" and event.told["step"] == scale.trained_steps

    events = _follow(_command(scale, pairs, folder / "first"), folder, "first", enough=whole, shop=shop)
    progress = _progress(folder / "first", scale.trained_steps)
    row = _speeds(events, tokens=progress["tokens"] / progress["step"], steps=scale.trained_steps)
    row["first_step"] = _first_step(events)
    _tell("the first start", events, row["first_step"])
    shop.figures["trainer"] = row
    _check_speed(shop, row)
    if shop.late():
        print("The second start is left out: the time is over.")
        return
    again = _follow(_command(scale, pairs, folder / "second"), folder, "second", enough=Event.is_step, shop=shop)
    row["second_start"] = _first_step(again)
    _tell("the second start", again, row["second_start"])
    told = f"{row['first_step']:.0f} s to the first step, {row['second_start']:.0f} s the second time; asked: {START} s"
    shop.figures.setdefault("checks", {})["start-up"] = told, row["first_step"] < START


def _command(scale: Scale, pairs: Path, out: Path) -> list[str]:
    settings = [
        "tokeniser.kind=words", "tokeniser.options={}", f"tokeniser.vocabulary={scale.vocabulary}",
        f"training.batch_tokens={scale.batch_tokens}", f"training.steps={scale.trained_steps}",
        f"training.checkpoint_every={scale.trained_steps // CHECKPOINTS}",  # the preset's are further apart
    ]  # fmt: skip
    if scale.device.type == "cpu":
        settings += ["training.row_lengths=[128]"]
    options = [part for setting in settings for part in ("--set", setting)]
    command = [sys.executable, "-m", "regard", "train", str(pairs), "--source", "en", "--target", "de"]
    return [*command, "--out", str(out), "--preset", scale.presets["base"], "--device", scale.device.type, *options]


def _follow(
    command: list[str], folder: Path, name: str, *, enough: Callable[[Event], bool], shop: Workshop
) -> list[Event]:
    """Runs the command until an event is enough, and gives what it told."""
    print(shlex.join(command), flush=True)
    paths = [str(Path(regard.__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
    caches = {
        kind: str(folder / "caches" / kind) for kind in ("REGARD_CACHE", "TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR")
    }
    journal, log = folder / name / "metrics.jsonl", folder / f"{name}.log"
    events: list[Event] = []
    began = time.monotonic()
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, stdout=output, stderr=subprocess.STDOUT, env=os.environ | caches | {"PYTHONPATH": ":".join(paths)}
        )
        try:
            while not (events and any(enough(event) for event in events)):
                ended = process.poll() is not None
                lines = journal.read_text(encoding="utf-8").split("\n")[:-1] if journal.exists() else []
                events += [Event(time.monotonic() - began, json.loads(line)) for line in lines[len(events) :]]
                if ended and not any(enough(event) for event in events):
                    tail = log.read_text(encoding="utf-8", errors="replace")[-3000:]
                    raise RuntimeError(f"the trainer ended by itself, with {process.returncode}:\n{tail}")
                assert time.monotonic() < shop.deadline + 120, f"the trainer takes too long:\n{log.read_text()[-3000:]}"
                time.sleep(0.05)
        finally:
            process.kill()  # what comes after the last step is not measured
            process.wait()
    return events


def _progress(out: Path, step: int) -> dict[str, Any]:
    """How far the trainer's last checkpoint says that it has come."""
    path = out / "training" / "checkpoints" / f"step-{step:08}" / "checkpoint.json"
    progress: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))["progress"]
    return progress


def _speeds(events: list[Event], *, tokens: float, steps: int) -> dict[str, Any]:
    """Target tokens a second: of reports well after the start, and of all between the first report and the last."""
    reports = [event for event in events if event.is_step()]
    later = [event for event in reports if event.told["step"] > STEADY_FROM] or reports
    steady = statistics.median(event.told["tokens_per_second"] for event in later)
    looks = [event.told["seconds"] for event in events if event.told["event"] == "validated"]
    saved = [event.told["seconds"] for event in events if event.told["event"] == "saved"]
    overall = tokens * (steps - reports[0].told["step"]) / max(1e-9, reports[-1].at - reports[0].at)
    print(
        f"{len(later)} reports, {tokens:,.0f} target tokens a step; validations took {looks} s, checkpoints {saved} s"
    )
    return {
        "tokens_per_second": steady,
        "overall": overall,
        "milliseconds": 1e3 * tokens / steady,
        "validations": looks,
        "checkpoints": saved,
    }


def _first_step(events: list[Event]) -> float:
    """Seconds from the command to the first report, which is that of the first step where starting took a while."""
    return next(event.at for event in events if event.is_step())


def _tell(what: str, events: list[Event], first: float) -> None:
    said = [(event.at, event.told["message"].split("\n")[0][:90]) for event in events if event.told["event"] == "said"]
    print(f"{what}: first step after {first:.1f} s")
    for at, message in said[:6]:
        print(f"  {at:6.1f} s  {message}")


def _check_speed(shop: Workshop, row: dict[str, Any]) -> None:
    told = f"{row['tokens_per_second']:,.0f} target tokens/s; {row['overall']:,.0f} with validation and checkpoints"
    known = shop.figures.get("speed", {}).get("Regard base")
    if known:
        row["kept"], row["kept_overall"] = (
            row[kind] / known["tokens_per_second"] for kind in ("tokens_per_second", "overall")
        )
        told += f"; {row['kept']:.1%} and {row['kept_overall']:.1%} of the bare loop; asked: {KEPT:.0%}"
        shop.figures.setdefault("checks", {})["regard train"] = told, row["kept_overall"] >= KEPT
    print(told, flush=True)
