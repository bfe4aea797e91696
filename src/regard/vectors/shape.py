"""What the vectors of a model are like: how many numbers each has, their scale, and the image that they are patches of.

Shapes: T vectors of F features; an image is [height, width, channels], its patches [T, patch height * patch width *
channels], row by row.
"""

from __future__ import annotations

from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, PositiveInt, model_validator

from regard.errors import CorpusError
from regard.settings import Settings

Array = NDArray[np.float32]
Patch = tuple[int, int]

MOST_PATCHES = 196  # of an image, where no size of a patch was chosen

_Pair = Annotated[tuple[PositiveInt, PositiveInt], Field(strict=False)]
_Floats = Annotated[tuple[float, ...], Field(strict=False, min_length=1)]


class ImageShape(Settings):
    """The images that a model reads, and how they are cut."""

    height: PositiveInt
    width: PositiveInt
    channels: PositiveInt
    patch: _Pair  # height, width

    @property
    def grid(self) -> tuple[int, int]:
        """How many patches stand below each other, and beside each other."""
        return self.height // self.patch[0], self.width // self.patch[1]

    @property
    def features(self) -> int:
        """The numbers of a patch."""
        return self.patch[0] * self.patch[1] * self.channels

    @property
    def size(self) -> tuple[int, int, int]:
        """Height, width and channels."""
        return self.height, self.width, self.channels

    def patches(self, image: NDArray[Any]) -> Array:
        """[height, width, channels] -> [T, F], from the upper left to the lower right."""
        (down, across), (high, wide) = self.grid, self.patch
        cut = image.reshape(down, high, across, wide, self.channels).transpose(0, 2, 1, 3, 4)
        return cut.reshape(down * across, self.features).astype(np.float32)


class VectorShape(Settings):
    """What a model reads in place of tokens; it follows from the data."""

    features: PositiveInt
    mean: _Floats = (0.0,)  # of each feature, or of all
    deviation: _Floats = (1.0,)
    image: ImageShape | None = None  # vectors that are patches

    @model_validator(mode="after")
    def _sizes_fit(self) -> Self:
        for name, values in (("mean", self.mean), ("deviation", self.deviation)):
            if len(values) not in (1, self.features):
                raise ValueError(f"{name}: expected 1 or {self.features} numbers, found {len(values)}.")
        if min(self.deviation) <= 0:
            raise ValueError("deviation: all numbers must be above 0.")
        return self


def default_patch(height: int, width: int, *, where: str) -> Patch:
    """The smallest square that divides an image into at most `MOST_PATCHES` patches."""
    for size in range(1, min(height, width) + 1):
        if height % size == 0 and width % size == 0 and height * width // size**2 <= MOST_PATCHES:
            return size, size
    raise CorpusError(
        f"{where}: no square patch divides an image of {width} x {height} pixels into at most {MOST_PATCHES} patches.\n"
        f"  Choose the height and width of a patch: --set data.patch=[{height},1]"
    )


def check_patch(patch: Patch, height: int, width: int, *, where: str) -> None:
    """Refuses patches that do not fill an image."""
    if height % patch[0] or width % patch[1]:
        raise CorpusError(
            f"{where}: patches of {patch[1]} x {patch[0]} pixels do not divide an image of {width} x {height}.\n"
            "  Choose a height and a width of patches that divide those of the image, such as "
            f"--set data.patch=[{height},1], or resize the images."
        )
