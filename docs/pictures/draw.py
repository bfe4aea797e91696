"""Draws the pictures of this folder from the objects that the program computes with.

python docs/pictures/draw.py [FOLDER]
"""

import sys
from pathlib import Path

import torch

from regard import presets
from regard.insight import machinery
from regard.models.transformer import OwnSentence, Sinusoids
from regard.tasks.translation import batch_of
from regard.training.loss import smoothed_cross_entropy
from regard.training.schedule import rate
from regard.training.training_settings import TrainingSettings

EVERY, STEPS = 200, 40_000
VOCABULARY = 1_000


def positions() -> str:
    """Section 3.5."""
    return machinery.positions(Sinusoids(128, interleaved=True).encodings(torch.arange(60)).float())


def distances() -> str:
    """The same, each position with the one in the middle."""
    widths = {"d_model 512": 512, "d_model 128": 128}
    return machinery.distances(
        {
            name: Sinusoids(width, interleaved=True).encodings(torch.arange(101)).float()
            for name, width in widths.items()
        }
    )


def masks() -> str:
    """Three sentence pairs in one row."""
    pairs = [([5, 6, 7, 8], [9, 8, 7]), ([4, 3], [2, 3, 4, 5]), ([7, 7, 9], [6, 2])]
    batch = batch_of([pairs], begin=0, end=1, length=16)
    source, target = batch.streams["source"], batch.streams["target"]
    seen = {
        "encoder": (OwnSentence(source, source).allowed()[0, 0], source, source),
        "decoder": (
            OwnSentence(target, target, backwards=True).allowed()[0, 0],
            target,
            target,
        ),
        "decoder-source": (OwnSentence(target, source).allowed()[0, 0], target, source),
    }
    return machinery.masks(seen)


def rates() -> str:
    """Section 5.3."""
    schedules = {}
    for name in ("base", "big"):
        preset = presets.load(name)
        settings = TrainingSettings.read(preset.training, where=name)
        schedules[name] = [rate(step, settings, d_model=preset.model["d_model"]) for step in range(1, STEPS, EVERY)]
    return machinery.rates(schedules, every=EVERY)


def smoothing() -> str:
    """The other words share what the right one leaves; the logits are logarithms of that."""
    curves = {}
    for name, epsilon in (("smoothed by 0.1", 0.1), ("not smoothed", 0.0)):
        points = []
        for percent in [*range(2, 100), *(99 + tenth / 10 for tenth in range(1, 10))]:
            right = percent / 100
            logits = torch.full((VOCABULARY,), (1 - right) / (VOCABULARY - 1), dtype=torch.float64).log()
            logits[0] = torch.tensor(right, dtype=torch.float64).log()
            points.append((right, float(smoothed_cross_entropy(logits, torch.tensor(0), epsilon)[0])))
        curves[name] = points
    return machinery.smoothing(curves)


PICTURES = {
    "positions.svg": positions,
    "distances.svg": distances,
    "masks.svg": masks,
    "rates.svg": rates,
    "smoothing.svg": smoothing,
}

if __name__ == "__main__":
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent)
    for name, draw in PICTURES.items():
        (folder / name).write_text(draw(), encoding="utf-8")
