"""A small encoder learns to read scikit-learn's digits; docs/results.md has the figure of the whole recipe."""

import importlib.util
from pathlib import Path

import pytest

from regard.evaluation.other_tasks import measure
from regard.training.train import train

pytest.importorskip("sklearn")

ROOT = Path(__file__).parents[2]


def digits(folder: Path) -> Path:
    """The files that recipes/digits.py writes."""
    found = importlib.util.spec_from_file_location("digits_recipe", ROOT / "recipes/digits.py")
    assert found
    assert found.loader
    script = importlib.util.module_from_spec(found)
    found.loader.exec_module(script)
    script.write(folder / "digits")
    return folder / "digits"


def test_digits_are_recognised_after_a_few_steps(tmp_path: Path) -> None:
    data = digits(tmp_path)
    quick = ("training.cooldown=0.3", "training.batch_tokens=512", "training.warmup=40", "training.checkpoint_every=20",
             "training.consistency=0.0")  # fmt: skip
    recipe, out = ROOT / "recipes/digits.toml", tmp_path / "model"
    train(data / "train.npz", recipe=recipe, out=out, settings=quick, steps=200, device="cpu")
    found = measure(out, data / "test.npz")
    assert found.examples == 599
    assert found.scores["accuracy"] > 90
