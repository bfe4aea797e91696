"""To other programs: a file with an `EXPORT` is an exporter, under the file's name.

Every export is checked before it stands in its place: the program that it is for translates probe sentences with the
written files (`parity.py`). An export that translates differently is an error, and nothing is left of it.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from regard import modelfolder
from regard.errors import ModelFolderError, SettingsError
from regard.files import new_file, new_folder
from regard.modelfolder import CARD, ModelFolder
from regard.settings import nearest

if TYPE_CHECKING:
    from regard.exchange.parity import Peer, Verdict

_OF_VECTORS = ("recognition", "transcription")
_CHECKED = "\n## Checked at export\n\n"


class Exporter(NamedTuple):
    """What an exporter's file gives to the room."""

    write: Callable[[ModelFolder, Path, str], None]  # the model, an empty folder, and how its weights are stored
    quantizations: tuple[str, ...]  # the ways to store weights, the default first
    peer: Peer  # the program that the export is for
    pack: Callable[[Path, BinaryIO], None] | None = None  # the folder into one file, if the program wants a file
    with_attentions: Callable[[ModelFolder, Path, str], None] | None = None  # `write`, with attention as outputs


def exporters() -> list[str]:
    """The names of all exporters."""
    modules = (module.name for module in iter_modules(__path__))
    return [name for name in modules if hasattr(import_module(f"{__name__}.{name}"), "EXPORT")]


def export(
    model: str | Path,
    out: Path,
    *,
    to: str,
    quantization: str | None = None,
    unchecked: bool = False,
    attentions: bool = False,
) -> Verdict:
    """Writes a model, by its folder or its shipped name, as the new folder or file `out` that another program reads.

    The verdict says how the other program's translations compare, or why they were not compared. `attentions` adds
    the weights of attention to what the export puts out, where the format can.
    """
    if to not in exporters():
        raise SettingsError(f"to = {to!r}: there is no such exporter; {nearest(to, exporters())}")
    exporter: Exporter = import_module(f"{__name__}.{to}").EXPORT
    if attentions:
        exporter = _with_attentions(exporter, to)
    chosen = quantization or exporter.quantizations[0]
    if chosen not in exporter.quantizations:
        raise SettingsError(
            f"quantization = {chosen!r}: {to} does not support it; {nearest(chosen, exporter.quantizations)}"
        )
    if out.exists() and (exporter.pack or not out.is_dir() or any(out.iterdir())):
        raise SettingsError(
            f"{out}: this path already exists.\n"
            f"  Regard overwrites nothing: choose a new {'file' if exporter.pack else 'folder'}."
        )
    loaded = modelfolder.load(model)
    if loaded.description.task in _OF_VECTORS and to != "regard":
        raise ModelFolderError(
            f"{model}: models of vectors or images cannot be exported to {to}.\n  Use Regard itself."
        )
    try:
        if exporter.pack:
            return _packed(exporter, loaded, out, chosen, unchecked=unchecked)
        with new_folder(out) as new:
            return _checked(exporter, loaded, new, chosen, unchecked=unchecked)
    except OSError as error:
        raise ModelFolderError(
            f"{out}: Regard cannot write this folder: {error.strerror}.\n"
            "  Free some disk space, or choose another folder. Regard has removed the unfinished export."
        ) from None


def _with_attentions(exporter: Exporter, to: str) -> Exporter:
    if exporter.with_attentions is None:
        raise SettingsError(
            f"attentions: exports to {to} have no outputs for the weights of attention.\n"
            "  Use --to onnx, or look at them with: regard look"
        )
    return exporter._replace(write=exporter.with_attentions)


def _checked(exporter: Exporter, loaded: ModelFolder, folder: Path, stored_as: str, *, unchecked: bool) -> Verdict:
    """Writes into an empty folder, compares, and adds the verdict to the card."""
    from regard.exchange.parity import check  # it needs PyTorch, which reading a model folder does not

    exporter.write(loaded, folder, stored_as)
    verdict = check(exporter.peer, folder, loaded, stored_as=stored_as, unchecked=unchecked)
    card = folder / CARD
    text = card.read_text(encoding="utf-8").split(_CHECKED)[0]
    card.write_text(f"{text}{_CHECKED}{verdict.sentence()}\n", encoding="utf-8")
    return verdict


def _packed(exporter: Exporter, loaded: ModelFolder, out: Path, stored_as: str, *, unchecked: bool) -> Verdict:
    """The same for a program that reads one file."""
    assert exporter.pack is not None
    out.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix="regard-") as temporary:
        verdict = _checked(exporter, loaded, Path(temporary), stored_as, unchecked=unchecked)
        with new_file(out) as file:
            exporter.pack(Path(temporary), file)
    return verdict
