"""The page of an image in a real browser: its patches are shown with the weights of the query that is chosen."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from regard import models
from regard.insight.attention_page import write_page
from regard.insight.look_at_vectors import look_at_vectors
from regard.vectors.examples import Example
from regard.vectors.shape import ImageShape, VectorShape

Open = Callable[..., Any]

IMAGE = ImageShape(height=8, width=12, channels=1, patch=(4, 4))
SHAPE = VectorShape(features=16, image=IMAGE)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.manual_seed(1)
    table = {"architecture": "encoder_only", "vocabulary": 3, "layers": 2, "d_model": 16, "d_ff": 24, "heads": 2,
             "labels": ["a", "b"], "pooling": "mean", "vectors": SHAPE.table(), "positions": "learned",
             "learned_positions": 16}  # fmt: skip
    model = models.build("encoder_only", models.read_settings(table, where="a test")).eval()
    pixels = np.arange(96, dtype=np.float32).reshape(8, 12, 1)
    example = Example(IMAGE.patches(pixels), "", "seven.png")
    seen = look_at_vectors(model, example, SHAPE, said="b", device=torch.device("cpu"), name="digits")
    file = tmp_path_factory.mktemp("page") / "attention.html"
    write_page(file, seen)
    return file


def test_the_patches_of_an_image_are_a_grid_and_choosing_one_makes_it_the_query(visit: Open, path: Path) -> None:
    shown = visit(path)
    assert shown.text("h1") == "seven.png"
    assert shown.page.locator("#picture").get_attribute("aria-label").startswith("The image in 2 by 3 patches")
    assert shown.page.locator("#query option").all_inner_texts() == ["1,1", "1,2", "1,3", "2,1", "2,2", "2,3"]
    assert "Each patch (rows) attends to all patches (columns)." in shown.text("#large-about")
    box = shown.page.locator("#picture").bounding_box()
    before = shown.page.eval_on_selector("#picture", "canvas => canvas.toDataURL()")
    shown.page.click("#picture", position={"x": 0.5 * box["width"], "y": 0.75 * box["height"]})
    assert shown.text("#picture-told").startswith("“2,2” attends most to the patches")
    assert shown.page.locator("#query").input_value() == "4"
    assert shown.page.eval_on_selector("#picture", "canvas => canvas.toDataURL()") != before
    shown.page.click('[data-name="encoder.1.1"]')
    assert shown.text("#large-name code") == "encoder.1.1"
    assert shown.text("#picture-told").startswith("“2,2” attends most")


def test_pixels_of_patches_stand_where_they_were() -> None:
    pixels = np.arange(96, dtype=np.float32).reshape(8, 12, 1)
    patches = IMAGE.patches(pixels)
    assert patches.shape == (6, 16)
    np.testing.assert_array_equal(patches[4].reshape(4, 4), pixels[4:, 4:8, 0])
