"""Images: single files, and folders with a table `labels.tsv` or `texts.tsv` of name, tab, label or text.

Pillow reads them (the extra `images`). An image is read in grey or in colour, as the first one of a run is.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from regard.errors import CorpusError, SettingsError
from regard.text.bad_input import BadInput
from regard.text.files import lines
from regard.text.normalisation import normalise
from regard.vectors.examples import PICTURES, Raw, Wanted

_GREY = ("1", "L", "LA", "I", "I;16", "F")


def folder(path: Path, *, wanted: Wanted | None, colour: bool | None) -> Iterator[Raw]:
    """The images that the table of a folder names, in its order; without `wanted`, all images by name."""
    listed = _table(path, wanted) if wanted else [(each, None, str(each)) for each in _inside(path)]
    for image, said, where in listed:
        if not image.is_file():
            raise CorpusError(f"{where}: the image {image} does not exist.\n  Correct the name, or remove the line.")
        found = one(image, colour=colour)
        colour = found.array.shape[2] > 1 if colour is None else colour
        yield found._replace(said=said)


def one(path: Path, *, colour: bool | None) -> Raw:
    """One image: [height, width, channels] of 0 to 255; without `colour`, in grey if it is stored in grey."""
    library = _library()
    try:
        with library.open(path) as image:
            grey = image.mode in _GREY if colour is None else not colour
            pixels = np.asarray(image.convert("L" if grey else "RGB"))
    except FileNotFoundError:
        raise CorpusError(f"{path}: there is no such file.\n  Check the path and the name.") from None
    except (OSError, SyntaxError, ValueError, library.DecompressionBombError) as error:
        raise CorpusError(f"{path}: this image cannot be read: {error}.\n  Replace it, or leave it out.") from None
    return Raw(pixels[..., None] if pixels.ndim == 2 else pixels, None, str(path), True)


def _table(path: Path, wanted: Wanted) -> list[tuple[Path, str, str]]:
    """Each image, its label or text, and the line that names it."""
    table = path / f"{wanted}.tsv"
    if not table.is_file():
        raise CorpusError(
            f"{path}: this folder has no {table.name}.\n"
            f"  Write one with a line for each image: its name, a tab, its {wanted.removesuffix('s')}."
        )
    found = []
    for number, line in enumerate(lines(table, BadInput()), start=1):
        if line is None or not line.strip():
            continue
        name, _, said = line.partition("\t")
        if not name.strip() or not normalise(said):
            raise CorpusError(
                f"{table}:{number}: this line has no {wanted.removesuffix('s') if name.strip() else 'name'}.\n"
                f"  Expected: the name of an image, a tab, its {wanted.removesuffix('s')}."
            )
        found.append((path / name.strip(), normalise(said), f"{table}:{number}"))
    return found


def _inside(path: Path) -> list[Path]:
    found = sorted(each for each in path.rglob("*") if each.suffix.lower() in PICTURES and each.is_file())
    if not found:
        raise CorpusError(f"{path}: there are no images in this folder.\n  Regard reads: {' '.join(PICTURES)}")
    return found


def _library() -> Any:
    try:
        return import_module("PIL.Image")
    except ImportError:
        raise SettingsError(
            "Images need Pillow, which is not installed.\n  Install it with: pip install 'regard[images]'"
        ) from None
