"""`regard translate` with a model of vectors: a line of text for each example of .npz files, images and folders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from regard.cli.output import print_json
from regard.errors import ModelFolderError, SettingsError

if TYPE_CHECKING:
    from regard.search import SearchSettings


def reads_vectors(model: Path) -> bool:
    """Whether the folder holds a model whose source is vectors."""
    from regard import modelfolder

    task = modelfolder.read_description(model).task if (model / modelfolder.DESCRIPTION).is_file() else ""
    if task == "recognition":
        raise ModelFolderError(
            f"{model}: this model gives labels, so it does not translate.\n  Use it with: regard classify {model}"
        )
    return task == "transcription"


def transcribe(
    model: Path,
    files: Sequence[Path] | None,
    search: SearchSettings,
    given: Mapping[str, object],
    *,
    own_length_penalty: bool,
    device: str | None,
    as_json: bool,
) -> None:
    """Prints the text of each example; `given` are options that are for text alone."""
    from regard.family.transcriber import Transcriber
    from regard.family.vector_input import inputs

    refused = [name for name, there in given.items() if there]
    if refused or not files:
        what = f"{', '.join(refused)}: this does not apply to vectors" if refused else "there is nothing to read"
        raise SettingsError(
            f"{model}: {what}.\n  Give .npz files, images or folders of images, and the options of the search alone."
        )
    found = Transcriber(model, device=device)
    if own_length_penalty:
        search = search.model_copy(update={"length_penalty": found.default_search.length_penalty})
    for name in files:
        examples = inputs(name, found.shape).examples
        for example, each in zip(examples, found.of(examples, search=search), strict=True):
            if as_json:
                print_json({"example": example.where, "text": each.text, "logprob": each.logprob}, indent=None)
            else:
                typer.echo(each.text)
