"""What models of vectors are given: arrays, files or folders, as lists of examples.

Shapes: T vectors of F features; an image is [height, width] or [height, width, channels].
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.errors import TextError
from regard.vectors.examples import PICTURES, Example, Raw, cut, raw
from regard.vectors.shape import VectorShape

Given = str | Path | NDArray[Any]


class Inputs(NamedTuple):
    """Examples, and whether a single one was given."""

    examples: list[Example]
    single: bool


def inputs(given: Given | Iterable[Given], shape: VectorShape) -> Inputs:
    """The examples that were given: an array of one or of many, a file, a folder, or a list of these."""
    if isinstance(given, str | Path):
        return Inputs(list(cut(_files([given], shape), shape)), Path(given).suffix.lower() in PICTURES)
    if isinstance(given, np.ndarray):
        dimensions = 2 if shape.image is None or given.shape != shape.image.size else 3
        single = given.ndim == dimensions
        return Inputs(list(cut(_arrays([given] if single else given, shape), shape)), single)
    found: list[Example] = []
    for each in given:
        if isinstance(each, str | Path):
            found += cut(_files([each], shape), shape)
        else:
            found += cut(_arrays([np.asarray(each)], shape, first=len(found) + 1), shape)
    return Inputs(found, single=False)


def _files(names: list[str | Path], shape: VectorShape) -> Iterator[Raw]:
    colour = shape.image.channels > 1 if shape.image else None
    return raw(names, wanted=None, colour=colour)


def _arrays(arrays: Iterable[NDArray[Any]], shape: VectorShape, *, first: int = 1) -> Iterator[Raw]:
    for number, array in enumerate(arrays, start=first):
        where, expected = f"input {number}", "[vectors, features]"
        if shape.image is not None:
            expected = "[height, width] or [height, width, channels]"
            array = array[..., None] if array.ndim == 2 else array
        if array.ndim != (2 if shape.image is None else 3) or array.dtype.kind not in "fiub" or not array.size:
            raise TextError(
                f"{where}: it has the shape {list(array.shape)} and the type {array.dtype}; expected numbers of the "
                f"shape {expected}.\n  Give one array of that shape, or a list of them."
            )
        yield Raw(array, None, where, shape.image is not None)
