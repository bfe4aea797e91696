"""`regard train`: sentence pairs in, a finished model folder out."""

from __future__ import annotations

import signal
from pathlib import Path
from threading import Event as Flag
from types import FrameType
from typing import Annotated

import typer
from rich.console import Console


def command(
    out: Annotated[Path, typer.Option(help="The folder of the new model.")],
    data: Annotated[list[str] | None, typer.Argument(help="Files, folders or patterns of sentence pairs.")] = None,
    source: Annotated[str | None, typer.Option(help="The language to translate from, such as en.")] = None,
    target: Annotated[str | None, typer.Option(help="The language to translate into, such as de.")] = None,
    preset: Annotated[str, typer.Option(help="The size: auto, tiny, small, base, big, or a row of Table 3.")] = "auto",
    recipe: Annotated[Path | None, typer.Option(help="A TOML file with settings, and perhaps the data.")] = None,
    set_: Annotated[list[str] | None, typer.Option("--set", help="One setting: training.warmup=2000")] = None,
    valid: Annotated[Path | None, typer.Option(help="Pairs to validate on; without them, some are held out.")] = None,
    from_model: Annotated[Path | None, typer.Option("--from", help="A model to adapt to the data.")] = None,
    old: Annotated[list[Path] | None, typer.Option(help="What that model was trained on, to mix in.")] = None,
    format_: Annotated[str | None, typer.Option("--format", help="The format, where names do not say it.")] = None,
    columns: Annotated[str | None, typer.Option(help="Columns of source and target in TSV files: 3,4")] = None,
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Pass over bad lines, and count them.")] = False,
    steps: Annotated[int | None, typer.Option(help="How many steps.")] = None,
    minutes: Annotated[float | None, typer.Option(help="How many minutes at the most.")] = None,
    checkpoint_every: Annotated[int | None, typer.Option(help="Steps between two checkpoints.")] = None,
    seed: Annotated[int | None, typer.Option(help="Another seed, another run.")] = None,
    device: Annotated[str | None, typer.Option(help="cpu or cuda; the best that is there, if left out.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the run in --out.")] = False,
    changed_data: Annotated[bool, typer.Option("--changed-data", help="Resume even over data that changed.")] = False,
    tensorboard: Annotated[bool, typer.Option("--tensorboard", help="Write for TensorBoard, too.")] = False,
) -> None:
    """Train a model on sentence pairs, named here or in the recipe. It can be stopped, and goes on with --resume."""
    from regard.cli import live
    from regard.cli.columns import columns_of
    from regard.training.report.board import board
    from regard.training.train import train

    console = Console(stderr=True)
    stop = Flag()
    signals = _stop_on_signals(stop, console)
    finished = train(
        *(data or ()),
        source=source,
        target=target,
        out=out,
        preset=preset,
        recipe=recipe,
        settings=set_ or (),
        valid=valid,
        format=format_,
        columns=columns_of(columns),
        skip_bad=skip_bad,
        from_model=from_model,
        old=old or (),
        steps=steps,
        minutes=minutes,
        checkpoint_every=checkpoint_every,
        seed=seed,
        device=device,
        resume=resume,
        changed_data=changed_data,
        view=lambda training: live.view(console, steps=training.steps, minutes=training.minutes),
        also_tell=board(out / "tensorboard") if tensorboard else None,
        stop=stop,
    )
    if not finished:
        console.print("Stopped, with a checkpoint. Go on with the same command and --resume.")
        raise typer.Exit(128 + signals[0] if signals else 1)


def _stop_on_signals(stop: Flag, console: Console) -> list[int]:
    """The first Ctrl-C or SIGTERM ends the run after the step; the second ends it at once."""
    received: list[int] = []

    def on_signal(number: int, _: FrameType | None) -> None:
        if received:
            raise KeyboardInterrupt
        received.append(number)
        stop.set()
        console.print("Stopping after this step, with a checkpoint. Once more stops at once.")

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, on_signal)
    return received
