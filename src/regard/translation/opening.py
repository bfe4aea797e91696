"""Model folders, opened for translation: what they must have in common, and how long their texts may be."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from regard import modelfolder, models
from regard.devices import Device
from regard.errors import ModelFolderError
from regard.exchange.importing import is_foreign, opened
from regard.modelfolder import DEFAULT_TASK, Description, ModelFolder, Readable
from regard.tokens import Tokenisers
from regard.translation.engines import Loaded

_MOST_PIECES = 1024  # where the model does not say


def open_models(folders: tuple[Path, ...], device: Device) -> Loaded:
    """The models of these folders: one, or the members of an ensemble."""
    members = tuple(_member(folder, device) for folder in folders)
    tokenisers = [_tokenisers(folder, member) for folder, member in zip(folders, members, strict=True)]
    for folder, member, own in zip(folders, members, tokenisers, strict=True):
        if own.hash != tokenisers[0].hash:
            raise ModelFolderError(
                f"{folder} and {folders[0]} have different tokenisers, so they cannot form an ensemble.\n"
                "  Train all members on the same data with the same tokeniser settings; only the seed may differ."
            )
        if member.description.languages != members[0].description.languages:
            raise ModelFolderError(
                f"{folder} translates {_named(member)}, and {folders[0]} {_named(members[0])}, "
                "so they cannot form an ensemble.\n"
                "  Give models for the same two languages."
            )
    return Loaded(folders=folders, members=members, tokenisers=tokenisers[0], device=device)


def _member(folder: Path, device: Device) -> Readable:
    """A model folder, whose model is read when it is needed; the folder of another program is read at once."""

    def fast() -> ModelFolder:
        from regard.models.fast import fast_form

        member = opened(folder, device=str(device))
        return member._replace(model=fast_form(member.model, "decoding"))

    if is_foreign(folder):
        other = fast()
        if other.description.task != DEFAULT_TASK:
            raise ModelFolderError(
                f"{folder}: this model of another program does not translate.\n"
                f"  To use it for the task {other.description.task!r}, import it: regard import {folder} OUT"
            )
        return other
    member = modelfolder.unopened(folder, fast)
    if member.description.task != DEFAULT_TASK:
        _refuse_unless_it_translates(folder, member.description.task)
    return member


def _refuse_unless_it_translates(folder: Path, task: str) -> None:
    from regard import tasks

    if not tasks.task(task).translates:
        raise ModelFolderError(
            f"{folder}: this model was trained for the task {task!r}, so it does not translate.\n"
            "  Give a model that was trained on sentence pairs."
        )


def _tokenisers(folder: Path, member: Readable) -> Tokenisers:
    if not member.tokeniser:
        raise ModelFolderError(f"{folder}: this model has no tokeniser, so it cannot read text.")
    return Tokenisers.from_files(member.tokeniser)


def _named(member: Readable) -> str:
    languages = member.description.languages
    return f"from {languages.get('source', 'unknown')} to {languages.get('target', 'unknown')}"


def most_positions(descriptions: Iterable[Description]) -> int | None:
    """How many tokens a sentence may have at most; None where there is no limit."""
    limits = [models.longest(description.architecture, description.settings) for description in descriptions]
    return min((limit for limit in limits if limit is not None), default=None)


def most_pieces(descriptions: Sequence[Description]) -> int:
    """The most pieces that a model was trained on at once, or that it can take; without the end."""
    rows: list[int] = []
    for description in descriptions:
        recipe: Any = description.training.get("recipe") or {}
        rows += recipe.get("training", {}).get("row_lengths", ())[-1:]
    positions = most_positions(descriptions)
    return min(_MOST_PIECES, *rows, _MOST_PIECES if positions is None else positions) - 1
