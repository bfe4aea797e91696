"""Vectors in .npz files, as numpy.savez writes them.

vectors     [N, T, F] N examples of T vectors, or [total, F] with `lengths`; or
images      [N, height, width] or [N, height, width, channels], cut into patches
lengths     [N] how many of the vectors belong to each example
labels      [N] a label for each example: strings or whole numbers
texts       [N] a text for each example
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from regard.errors import CorpusError
from regard.vectors.examples import Raw, Wanted


def read(path: Path, *, wanted: Wanted | None) -> Iterator[Raw]:
    """The examples of a file."""
    arrays = _arrays(path)
    inputs = [name for name in ("vectors", "images") if name in arrays]
    if len(inputs) != 1:
        raise CorpusError(
            f"{path}: expected an array named vectors or one named images, found: {', '.join(arrays) or 'nothing'}.\n"
            "  Save it with: numpy.savez(path, vectors=..., labels=...)"
        )
    examples = _vectors(path, arrays) if inputs == ["vectors"] else _images(path, arrays["images"])
    said = _said(path, arrays, wanted, len(examples))
    for number, (array, words) in enumerate(zip(examples, said, strict=True), start=1):
        yield Raw(array, words, f"{path}:{number}", inputs == ["images"])


def _arrays(path: Path) -> dict[str, NDArray[Any]]:
    try:
        with np.load(path, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except ValueError as error:
        if "allow_pickle" in str(error):
            raise CorpusError(
                f"{path}: it holds Python objects, which Regard does not load.\n"
                "  Save arrays of numbers or strings: numpy.array(list, dtype=str). Examples of different lengths go "
                "into one array `vectors` of [total, F], with an array `lengths`."
            ) from None
        raise _damaged(path, error) from None
    except (BadZipFile, OSError, KeyError, EOFError) as error:
        raise _damaged(path, error) from None


def _damaged(path: Path, error: Exception) -> CorpusError:
    return CorpusError(
        f"{path}: this .npz file cannot be read: {error}.\n  Write it again with numpy.savez or numpy.savez_compressed."
    )


def _vectors(path: Path, arrays: Mapping[str, NDArray[Any]]) -> list[NDArray[Any]]:
    vectors = _numbers(path, "vectors", arrays["vectors"])
    if "lengths" not in arrays:
        if vectors.ndim != 3 or not vectors.shape[1] or not vectors.shape[2]:
            raise CorpusError(
                f"{path}: vectors has the shape {list(vectors.shape)}; expected [examples, vectors, features].\n"
                "  For examples of different lengths, give [total, features] and an array `lengths`."
            )
        return list(vectors)
    lengths = arrays["lengths"]
    if vectors.ndim != 2 or lengths.ndim != 1 or lengths.dtype.kind not in "iu" or lengths.sum() != len(vectors):
        raise CorpusError(
            f"{path}: vectors has the shape {list(vectors.shape)}, and the lengths add up to {lengths.sum()}.\n"
            "  With lengths, vectors is [total, features], and the lengths add up to the total."
        )
    if lengths.min(initial=1) < 1:
        raise CorpusError(f"{path}:{int(lengths.argmin()) + 1}: this example has no vectors.\n  Leave it out.")
    return np.split(vectors, lengths.cumsum()[:-1])


def _images(path: Path, images: NDArray[Any]) -> list[NDArray[Any]]:
    images = _numbers(path, "images", images)
    if images.ndim == 3:
        images = images[..., None]
    if images.ndim != 4 or 0 in images.shape[1:]:
        raise CorpusError(
            f"{path}: images has the shape {list(images.shape)}; expected [images, height, width] or "
            "[images, height, width, channels].\n  Resize or pad images of different sizes to one size."
        )
    return list(images)


def _numbers(path: Path, name: str, array: NDArray[Any]) -> NDArray[Any]:
    if array.dtype.kind not in "fiub":
        raise CorpusError(f"{path}: {name} has the type {array.dtype}; expected numbers.\n  Save it as float32.")
    return array


def _said(path: Path, arrays: Mapping[str, NDArray[Any]], wanted: Wanted | None, count: int) -> list[str] | list[None]:
    """The labels or texts, where they are wanted."""
    if wanted is None:
        return [None] * count
    if wanted not in arrays:
        raise CorpusError(
            f"{path}: there is no array named {wanted}; found: {', '.join(arrays)}.\n"
            f"  Every example needs one: numpy.savez(path, ..., {wanted}=...)"
        )
    array = arrays[wanted]
    if array.ndim != 1 or array.dtype.kind not in "US" + ("iub" if wanted == "labels" else ""):
        kinds = "strings or whole numbers" if wanted == "labels" else "strings"
        raise CorpusError(
            f"{path}: {wanted} has the shape {list(array.shape)} and the type {array.dtype}.\n"
            f"  Expected one dimension of {kinds}."
        )
    if len(array) != count:
        raise CorpusError(f"{path}: there are {count:,} examples but {len(array):,} {wanted}.\n  Give one for each.")
    found = [each.decode() if isinstance(each, bytes) else str(each) for each in array.tolist()]
    for number, each in enumerate(found, start=1):
        if not each.strip():
            raise CorpusError(f"{path}:{number}: its entry in {wanted} is empty.\n  Fill it in, or leave it out.")
    return found
