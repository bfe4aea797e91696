"""Examples of vectors, whatever they are read from.

A source of examples is a .npz file, a folder of images with a table of labels or texts, or a single image. All
examples of a run have vectors of one size, and all images have one size.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.errors import CorpusError
from regard.vectors.shape import Array, ImageShape, Patch, VectorShape, check_patch, default_patch

Wanted = Literal["labels", "texts"]

SUFFIX = ".npz"
PICTURES = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp")


class Raw(NamedTuple):
    """An example as it is stored: [T, F] vectors, or an image of [height, width, channels]."""

    array: NDArray[Any]
    said: str | None  # its label or its text, where there is one
    where: str  # the file and the place in it
    is_image: bool


class Example(NamedTuple):
    """An example as a model reads it."""

    vectors: Array
    said: str
    where: str


class Cutting(NamedTuple):
    """How images are read; None: by the first image."""

    patch: Patch | None = None
    colour: bool | None = None


def files_of(names: Sequence[str | Path]) -> list[Path]:
    """All files behind these names, for hashes of their bytes."""
    found: list[Path] = []
    for name in names:
        path = Path(name)
        found += sorted(each for each in path.rglob("*") if each.is_file()) if path.is_dir() else [path]
    return found


def raw(names: Sequence[str | Path], *, wanted: Wanted | None, colour: bool | None = None) -> Iterator[Raw]:
    """The examples of these files and folders in order; `wanted` is what each must have beside its vectors."""
    from regard.vectors import images, npz

    for name in names:
        path = Path(name)
        if not path.exists():
            raise CorpusError(f"{path}: there is no such file or folder.\n  Check the path and the name.")
        if path.is_dir():
            yield from images.folder(path, wanted=wanted, colour=colour)
        elif path.suffix.lower() == SUFFIX:
            yield from npz.read(path, wanted=wanted)
        elif path.suffix.lower() in PICTURES and wanted is None:
            yield images.one(path, colour=colour)
        else:
            raise CorpusError(
                f"{path}: this is not a source of vectors.\n"
                f"  Give a {SUFFIX} file with an array `vectors` or `images`, or a folder of images with a file "
                "labels.tsv or texts.tsv."
            )


def shape_of(first: Raw, cutting: Cutting) -> VectorShape:
    """The shape of the vectors of a run, by its first example."""
    if not first.is_image:
        return VectorShape(features=first.array.shape[1])
    height, width, channels = first.array.shape
    patch = cutting.patch or default_patch(height, width, where=first.where)
    check_patch(patch, height, width, where=first.where)
    image = ImageShape(height=height, width=width, channels=channels, patch=patch)
    return VectorShape(features=image.features, image=image)


def cut(examples: Iterable[Raw], shape: VectorShape) -> Iterator[Example]:
    """Examples as vectors of this shape; others are refused."""
    for each in examples:
        yield Example(vectors_of(each, shape), each.said or "", each.where)


def vectors_of(example: Raw, shape: VectorShape) -> Array:
    """[T, F] the vectors of one example."""
    array, where, image = example.array, example.where, shape.image
    if not np.isfinite(array).all():
        raise CorpusError(f"{where}: some numbers are NaN or infinite.\n  Replace them, or leave the example out.")
    if example.is_image != (image is not None):
        has, wants = ("an image", "vectors") if example.is_image else ("vectors", "images")
        raise CorpusError(f"{where}: this is {has}, but {wants} are expected.\n  Give data of one kind.")
    if image is None:
        if array.shape[1] != shape.features:
            raise CorpusError(
                f"{where}: its vectors have {array.shape[1]} numbers, but {shape.features} are expected.\n"
                "  All vectors of a model need the same number of features."
            )
        return array.astype(np.float32)
    if array.shape != image.size:
        raise CorpusError(
            f"{where}: this image has {_told(array.shape)}, but {_told(image.size)} are expected.\n"
            "  Resize or pad all images to one size."
        )
    return image.patches(array)


def statistics(shape: VectorShape, examples: Iterable[Example]) -> VectorShape:
    """The shape with the mean and deviation of each feature; of images, of all pixels."""
    count, total, squares = 0, np.zeros(shape.features), np.zeros(shape.features)
    for each in examples:
        count += len(each.vectors)
        total += each.vectors.sum(0, dtype=np.float64)
        squares += np.square(each.vectors, dtype=np.float64).sum(0)
    if shape.image is not None:
        count, total, squares = count * shape.features, total.sum(keepdims=True), squares.sum(keepdims=True)
    mean = total / max(1, count)
    deviation = np.sqrt(np.maximum(squares / max(1, count) - mean**2, 0))
    deviation = np.where(deviation > 1e-8 * (1 + np.abs(mean)), deviation, 1.0)  # a feature that never changes
    return shape.model_copy(update={"mean": _rounded(mean), "deviation": _rounded(deviation)})


def _rounded(values: NDArray[np.float64]) -> tuple[float, ...]:
    return tuple(float(f"{value:.6g}") for value in values)


def _told(size: Sequence[int]) -> str:
    height, width, channels = size
    return f"{width} x {height} pixels in {'colour' if channels > 1 else 'grey'}"
