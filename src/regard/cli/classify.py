"""`regard classify`: a label for each line, or for each image."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from regard.cli.lines_of import line_windows
from regard.cli.options import Device, Model
from regard.cli.output import print_json


def command(
    model: Model,
    text: Annotated[
        list[str] | None, typer.Argument(help="Texts; for a model of vectors: .npz files, images or folders.")
    ] = None,
    file: Annotated[list[Path] | None, typer.Option(help="File of texts, one per line; may be repeated.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per text.")] = False,
    device: Device = None,
) -> None:
    """Classify texts or images: one line out for each, with the label and its probability.

    Texts come from the command, from files or from standard input; vectors and images from files.
    """
    from regard.family.opening import task_of

    recognises = task_of(model) == "recognition"
    answers = _images(model, text or (), file or (), device) if recognises else _texts(model, text, file, device)
    for name, each in answers:
        if as_json:
            about = "example" if recognises else "text"
            print_json({about: name, "label": each.label, "probabilities": each.probabilities}, indent=None)
        else:
            typer.echo(f"{each.label}\t{each.probability:.4f}")


def _texts(
    model: Path, text: list[str] | None, file: list[Path] | None, device: str | None
) -> Iterator[tuple[str, Any]]:
    from regard.family.classifier import Classifier

    found = Classifier(model, device=device)
    for window in line_windows(text or (), file or ()):
        yield from zip(window, found.classify(window), strict=True)


def _images(model: Path, names: Any, files: Any, device: str | None) -> Iterator[tuple[str, Any]]:
    from regard.errors import SettingsError
    from regard.family.recogniser import Recogniser
    from regard.family.vector_input import inputs

    found = Recogniser(model, device=device)
    if not names and not files:
        raise SettingsError("This model reads vectors, not text.\n  Give .npz files, images or folders of images.")
    for name in (*names, *files):
        examples = inputs(name, found.shape).examples
        yield from zip((each.where for each in examples), found.of(examples), strict=True)
