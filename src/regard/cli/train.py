"""`regard train`: sentence pairs or other text in, a finished model folder out."""

from __future__ import annotations

import signal
from pathlib import Path
from threading import Event as Flag
from types import FrameType
from typing import Annotated

import typer
from rich.console import Console

from regard.cli.columns import columns_of
from regard.cli.options import Columns, Data, Device, Documents, Encoding, Format, Task


def command(
    out: Annotated[Path, typer.Option(help="The model folder to write.")],
    data: Data = None,
    task: Task = None,
    source: Annotated[str | None, typer.Option(help="Source language, such as en.")] = None,
    target: Annotated[str | None, typer.Option(help="Target language, such as de.")] = None,
    preset: Annotated[str, typer.Option(help="auto, tiny, small, base, big, or another of: regard presets.")] = "auto",
    recipe: Annotated[Path | None, typer.Option(help="TOML file with settings and, if you like, the data.")] = None,
    set_: Annotated[list[str] | None, typer.Option("--set", help="One setting: training.warmup=2000.")] = None,
    valid: Annotated[Path | None, typer.Option(help="Validation pairs (default: hold some out of the data).")] = None,
    from_model: Annotated[Path | None, typer.Option("--from", help="Model to adapt (fine-tune) to the data.")] = None,
    old: Annotated[list[Path] | None, typer.Option(help="With --from: the model's old data, to mix in.")] = None,
    format_: Format = None,
    columns: Columns = None,
    encoding: Encoding = None,
    documents: Documents = None,
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Skip bad lines and count them.")] = False,
    steps: Annotated[int | None, typer.Option(help="Number of training steps.")] = None,
    minutes: Annotated[float | None, typer.Option(help="Time limit in minutes.")] = None,
    checkpoint_every: Annotated[int | None, typer.Option(help="Steps between two checkpoints.")] = None,
    seed: Annotated[int | None, typer.Option(help="Random seed.")] = None,
    device: Device = None,
    resume: Annotated[bool, typer.Option("--resume", help="Resume the run in --out.")] = False,
    changed_data: Annotated[bool, typer.Option("--changed-data", help="Resume even if the data changed.")] = False,
    tensorboard: Annotated[bool, typer.Option("--tensorboard", help="Also write logs for TensorBoard.")] = False,
) -> None:
    """Train a model on sentence pairs, or on other text with --task.

    Stop a run with Ctrl-C and continue it with --resume.
    """
    from regard.cli import live
    from regard.training.report.board import board
    from regard.training.train import train

    console, stop = Console(stderr=True), Flag()
    signals = _stop_on_signals(stop, console)
    finished = train(
        *(data or ()), task=task, documents=documents, source=source, target=target, out=out, preset=preset,
        recipe=recipe, settings=set_ or (), valid=valid, format=format_, columns=columns_of(columns), encoding=encoding,
        skip_bad=skip_bad, from_model=from_model, old=old or (), steps=steps, minutes=minutes,
        checkpoint_every=checkpoint_every, seed=seed, device=device, resume=resume, changed_data=changed_data,
        view=lambda training: live.view(console, steps=training.steps, minutes=training.minutes),
        also_tell=board(out / "tensorboard") if tensorboard else None, stop=stop,
    )  # fmt: skip
    if not finished:
        console.print("Stopped and saved a checkpoint. To continue, add --resume to the command.")
        raise typer.Exit(128 + signals[0] if signals else 1)


def _stop_on_signals(stop: Flag, console: Console) -> list[int]:
    """The first Ctrl-C or SIGTERM ends the run after the step; the second ends it at once."""
    received: list[int] = []

    def on_signal(number: int, _: FrameType | None) -> None:
        if received:
            raise KeyboardInterrupt
        received.append(number)
        stop.set()
        console.print("Stopping after this step, with a checkpoint. Ctrl-C again stops at once.")

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, on_signal)
    return received
