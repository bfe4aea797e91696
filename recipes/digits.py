"""Scikit-learn's handwritten digits as two .npz files: 1,198 images of 8 x 8 pixels to train on, and a test third.

    python recipes/digits.py FOLDER
    regard train FOLDER/train.npz --recipe recipes/digits.toml --out digits
    regard evaluate digits --test FOLDER/test.npz

The split is fixed: a third of each digit, drawn by scikit-learn with the seed 0.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split


def write(folder: Path) -> None:
    """Writes train.npz and test.npz."""
    digits = load_digits()
    parts = train_test_split(digits.images, digits.target, test_size=1 / 3, random_state=0, stratify=digits.target)
    train_images, test_images, train_labels, test_labels = parts
    folder.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(folder / "train.npz", images=train_images.astype(np.float32), labels=train_labels)
    np.savez_compressed(folder / "test.npz", images=test_images.astype(np.float32), labels=test_labels)


if __name__ == "__main__":
    write(Path(sys.argv[1]))
