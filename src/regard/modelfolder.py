"""A model on disk: everything that it needs, in one folder, checked whenever it is read.

regard.json             architecture, settings, languages, training, scores, and the size and hash of each file below
weights.safetensors     the parameters, each once
tokeniser/              the tokeniser's files
README.md               the card, for people; theirs to edit, so it is the one file that is not checked

A folder is written beside its place and moved there whole. Nothing is ever unpickled. More in docs/model-folder.md.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from pydantic import Field

from regard import files, models, shipped
from regard.errors import ModelFolderError
from regard.settings import Settings
from regard.version import __version__

if TYPE_CHECKING:
    import torch

    from regard.models.protocols import Model

FORMAT = 1
DESCRIPTION = "regard.json"
WEIGHTS = "weights.safetensors"
TOKENISER = "tokeniser"
CARD = "README.md"
DEFAULT_TASK = "translation"

_FILE_NAME = re.compile(rf"{re.escape(WEIGHTS)}|{TOKENISER}/[A-Za-z0-9_][A-Za-z0-9_.-]*")


class Stored(Settings):
    """A file's size and hash."""

    bytes: int
    sha256: str


class Description(Settings):
    """What regard.json says."""

    format: int
    regard: str  # the version that wrote it
    architecture: str
    settings: dict[str, Any]
    languages: dict[str, str] = Field(default_factory=dict)  # source, target
    training: dict[str, Any] = Field(default_factory=dict)  # data, counts, command
    scores: dict[str, Any] = Field(default_factory=dict)  # metric with signature -> value
    stored_as: str = "float32"  # the numbers on disk; they are computed with in float32
    task: str = DEFAULT_TASK  # left out where it is this one, so that older versions can read the folder
    files: dict[str, Stored]

    @property
    def length_penalty(self) -> float | None:
        """The length penalty that training has chosen for this model (`training.search`), if it has."""
        search = self.training.get("search")
        penalty = search.get("length_penalty") if isinstance(search, dict) else None
        return float(penalty) if isinstance(penalty, int | float) and penalty >= 0 else None


class Readable(Protocol):
    """A model folder that was read, or whose model is yet to be."""

    @property
    def model(self) -> Model[Any, Any]:
        """The model, ready to use."""

    @property
    def description(self) -> Description:
        """What regard.json says."""

    @property
    def tokeniser(self) -> dict[str, bytes]:
        """File name -> content."""


class ModelFolder(NamedTuple):
    """What was read from a model folder."""

    model: Model[Any, Any]
    description: Description
    tokeniser: dict[str, bytes]  # file name -> content
    card: str = ""


class UnopenedFolder:
    """A model folder whose files are checked, and whose model is built when it is first asked for.

    Reading it needs no PyTorch. Any number of threads may ask for the model; `build` runs once.
    """

    def __init__(self, description: Description, tokeniser: dict[str, bytes], build: Callable[[], ModelFolder]) -> None:
        self.description, self.tokeniser = description, tokeniser
        self._build, self._building = build, Lock()
        self._built: ModelFolder | None = None

    @property
    def model(self) -> Model[Any, Any]:
        """The model; the first time, its weights are read and checked again."""
        with self._building:
            if self._built is None:
                self._built = self._build()
        return self._built.model


def save(
    folder: Path,
    model: Model[Any, Any],
    *,
    architecture: str,
    settings: Settings,
    languages: Mapping[str, str] | None = None,
    training: Mapping[str, Any] | None = None,
    scores: Mapping[str, Any] | None = None,
    tokeniser: Mapping[str, bytes] | None = None,
    card: str = "",
    stored_as: str = "float32",
    task: str = DEFAULT_TASK,
    beside_others: bool = False,
) -> None:
    """Writes the model folder, whole or not at all; one that is there already is replaced, anything else is not.

    `stored_as` says how small the weights are on disk (`storage.py`). `beside_others` leaves other files in the folder
    where they are; then it is a model folder from the moment the last file is there.
    """
    from regard import storage

    folder = folder.absolute()
    if not beside_others:
        _refuse_to_replace_something_else(folder)
    contents = {WEIGHTS: storage.written(model, stored_as)}
    contents |= {f"{TOKENISER}/{name}": content for name, content in (tokeniser or {}).items()}
    description = Description(
        format=FORMAT,
        regard=__version__,
        architecture=architecture,
        settings=settings.table(),
        languages=dict(languages or {}),
        training=dict(training or {}),
        scores=dict(scores or {}),
        stored_as=stored_as,
        task=task,
        files={name: Stored(bytes=len(content), sha256=_sha256(content)) for name, content in contents.items()},
    )
    exclude = {"task"} if task == DEFAULT_TASK else None
    contents[DESCRIPTION] = _sealed(description.model_dump(mode="json", exclude=exclude))
    contents[CARD] = (card or _plain_card(folder.name, description, model)).encode()
    if beside_others:
        _write_beside(folder, contents)
    else:
        _write_whole(folder, contents)


def load(model: str | Path, *, device: torch.device | str = "cpu") -> ModelFolder:
    """Reads and checks a model folder, or the shipped model of that name; it is ready to use, in float32."""
    from regard import storage

    folder = shipped.find(model)
    description, contents = _read_all(folder)
    kind = models.architecture(description.architecture).settings
    settings = kind.read(description.settings, where=str(folder / DESCRIPTION))
    weights = storage.read(contents.pop(WEIGHTS), folder / WEIGHTS)
    built = storage.filled(description.architecture, settings, weights, folder / WEIGHTS)
    return ModelFolder(built.to(device).eval(), description, _of_tokeniser(contents), _read_card(folder))


def unopened(model: str | Path, build: Callable[[], ModelFolder]) -> UnopenedFolder:
    """Reads and checks a model folder, or the shipped model of that name; `build` opens it when its model is needed."""
    description, contents = _read_all(shipped.find(model))
    del contents[WEIGHTS]
    return UnopenedFolder(description, _of_tokeniser(contents), build)


def read_description(model: str | Path) -> Description:
    """What a model folder, or the shipped model of that name, says about itself; its other files are not read."""
    return _read_description(shipped.find(model))


def read_tokeniser(model: str | Path) -> dict[str, bytes]:
    """The files of the tokeniser alone, checked; what `load` has under this name."""
    folder = shipped.find(model)
    stored = {name: entry for name, entry in _read_description(folder).files.items() if name != WEIGHTS}
    return _of_tokeniser({name: _read_checked(folder, name, entry) for name, entry in stored.items()})


def _read_all(folder: Path) -> tuple[Description, dict[str, bytes]]:
    """What regard.json says, and the content of every file that it lists, checked."""
    description = _read_description(folder)
    contents = {name: _read_checked(folder, name, stored) for name, stored in description.files.items()}
    if WEIGHTS not in contents:
        raise ModelFolderError(f"{folder / DESCRIPTION}: this file does not list {WEIGHTS}.\n  {files.COPY_AGAIN}")
    return description, contents


def _of_tokeniser(contents: Mapping[str, bytes]) -> dict[str, bytes]:
    return {name.removeprefix(f"{TOKENISER}/"): content for name, content in contents.items()}


def _read_description(folder: Path) -> Description:
    path = folder / DESCRIPTION
    if not folder.exists():
        raise ModelFolderError(
            f"{folder}: there is no such folder, and no model of that name is shipped.\n"
            f"  Give the path of a folder that contains {DESCRIPTION}, or the name of a shipped model. {shipped.told()}"
        )
    if not path.is_file():
        unfinished = (folder / "training").is_dir()
        advice = (
            "Its training has not finished. Give the command that started it again with --resume."
            if unfinished
            else "Give a folder that `regard train` or `regard export` wrote. If this is one, copy it again."
        )
        raise ModelFolderError(f"{folder}: this is not a Regard model folder: {DESCRIPTION} is missing.\n  {advice}")
    try:
        table = json.loads(path.read_bytes())
        seal = table.pop("sha256")
    except (ValueError, AttributeError, KeyError, TypeError):
        raise ModelFolderError(
            f"{path}: this file is truncated or was not written by Regard.\n  {files.COPY_AGAIN}"
        ) from None
    if isinstance(table.get("format"), int) and table["format"] > FORMAT:
        raise ModelFolderError(
            f"{path}: this folder was written by Regard {table.get('regard')}, in format {table['format']}; "
            f"this version reads formats up to {FORMAT}.\n  Upgrade with: pip install --upgrade regard"
        )
    if seal != _sha256(_canonical(table)):
        raise ModelFolderError(
            f"{path}: this file was changed after it was written (its hash differs).\n  {files.COPY_AGAIN}"
        )
    return Description.read(table, where=str(path))


def _read_card(folder: Path) -> str:
    path = folder / CARD
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""


def _read_checked(folder: Path, name: str, stored: Stored) -> bytes:
    path = folder / name
    if not _FILE_NAME.fullmatch(name):
        raise ModelFolderError(
            f"{folder / DESCRIPTION}: {name!r} is not a valid file name in a model folder.\n  {files.COPY_AGAIN}"
        )
    if not path.is_file():
        raise ModelFolderError(f"{path}: this file is missing.\n  {files.COPY_AGAIN}")
    content = path.read_bytes()
    if len(content) < stored.bytes:
        raise ModelFolderError(
            f"{path}: this file is truncated: it has {len(content):,} of {stored.bytes:,} bytes.\n  {files.COPY_AGAIN}"
        )
    if _sha256(content) != stored.sha256:
        raise ModelFolderError(
            f"{path}: this file was changed after it was written (its hash differs).\n  {files.COPY_AGAIN}"
        )
    return content


def _refuse_to_replace_something_else(folder: Path) -> None:
    if folder.is_dir() and any(folder.iterdir()) and not (folder / DESCRIPTION).is_file():
        raise ModelFolderError(
            f"{folder}: this folder contains other files.\n  Choose a new folder: Regard replaces only model folders."
        )
    if folder.exists() and not folder.is_dir():
        raise ModelFolderError(f"{folder}: this is a file.\n  Choose a new folder for the model.")


def _write_whole(folder: Path, contents: Mapping[str, bytes]) -> None:
    with files.new_folder(folder) as new:
        for name, content in contents.items():
            path = new / name
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(content)


def _write_beside(folder: Path, contents: Mapping[str, bytes]) -> None:
    """Each file by itself into a folder that holds others; the description, which vouches for all, comes last.

    An old model stays whole until all new files are on the disk.
    """
    with ExitStack() as stack:
        for name in sorted(contents, key=lambda name: name != DESCRIPTION):  # left in the opposite order
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            new = stack.enter_context(files.new_file(path))
            new.write(contents[name])
            new.flush()
        (folder / DESCRIPTION).unlink(missing_ok=True)


def _canonical(table: Mapping[str, Any]) -> bytes:
    return json.dumps(table, indent=2, ensure_ascii=False, sort_keys=True).encode()


def _sealed(table: Mapping[str, Any]) -> bytes:
    return json.dumps({**table, "sha256": _sha256(_canonical(table))}, indent=2, ensure_ascii=False).encode() + b"\n"


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _plain_card(name: str, description: Description, model: Model[Any, Any]) -> str:
    """The least that a card says."""
    parameters = sum(parameter.numel() for parameter in model.parameters())
    languages = " to ".join(description.languages.get(side, "?") for side in ("source", "target"))
    rows = "\n".join(f"| {key} | {value} |" for key, value in description.settings.items())
    return (
        f"# {name}\n\nA model of Regard {description.regard}: {description.architecture}, {parameters:,} parameters"
        f"{', ' + languages if description.languages else ''}.\n\n| setting | value |\n| --- | --- |\n{rows}\n"
    )
