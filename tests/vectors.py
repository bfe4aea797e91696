"""Data that are not text: made-up frames, pictures of strokes, and words that Pillow draws."""

import random
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from regard.training.train import train

SMALL = (
    "model.d_model=32",
    "model.d_ff=64",
    "model.heads=2",
    "model.d_k=16",
    "model.d_v=16",
    "model.dropout=0.0",
    "training.batch_tokens=512",
    "training.row_lengths=[64]",
    "training.warmup=10",
    "training.peak_rate=0.005",
    "training.label_smoothing=0.0",
    "training.cooldown=0.0",
    "training.averaged_checkpoints=1",
    "validation.every=40",
    "validation.translate_every=1",
)
SINGLE = (*SMALL, "model.layers=1", "model.learned_positions=64")
BOTH = (*SMALL, "model.encoder_layers=1", "model.decoder_layers=1", "model.learned_positions=64")


def frames(path: Path, *, count: int = 200, seed: int = 0) -> Path:
    """Sequences of 2 to 9 vectors with very different scales: the first feature rises, or it falls."""
    draw = np.random.default_rng(seed)
    lengths = draw.integers(2, 10, count)
    labels = draw.choice(["rises", "falls"], count)
    parts = []
    for length, label in zip(lengths, labels, strict=True):
        part = draw.normal(size=(length, 3)) * [1, 1e-3, 1] + [1000, 0, 0]
        part[:, 0] += np.arange(length) * (5 if label == "rises" else -5)
        parts.append(part)
    np.savez(path, vectors=np.concatenate(parts).astype(np.float32), lengths=lengths, labels=labels)
    return path


def strokes(folder: Path, *, count: int = 200, seed: int = 0) -> Path:
    """A folder of images of 8 x 8 pixels with a horizontal or a vertical line on faint noise, and its labels."""
    draw, lines = random.Random(seed), []  # noqa: S311
    folder.mkdir(parents=True)
    for number in range(count):
        image, place = Image.frombytes("L", (8, 8), bytes(draw.randrange(60) for _ in range(64))), draw.randrange(8)
        lies = draw.random() < 0.5
        ImageDraw.Draw(image).line([(0, place), (7, place)] if lies else [(place, 0), (place, 7)], fill=255)
        image.save(folder / f"{number}.png")
        lines.append(f"{number}.png\t{'lies' if lies else 'stands'}")
    (folder / "labels.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def words(folder: Path, *, count: int = 400, seed: int = 0) -> Path:
    """A folder of images of words of one to three letters, drawn by Pillow, and their texts."""
    draw, lines, font = random.Random(seed), [], ImageFont.load_default_imagefont()  # noqa: S311
    folder.mkdir(parents=True)
    for number in range(count):
        word = "".join(draw.choice("abcde") for _ in range(draw.randint(1, 3)))
        image = Image.new("L", (20, 12))
        ImageDraw.Draw(image).text((1, 0), word, fill=255, font=font)
        image.save(folder / f"{number}.png")
        lines.append(f"{number}.png\t{word}")
    (folder / "texts.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def model(out: Path, task: str, data: Path, *more: str, steps: int = 80, **options: object) -> Path:
    """A model of vectors, trained on a CPU."""
    settings = (*(SINGLE if task == "recognition" else BOTH), *more)
    train(data, out=out, task=task, settings=settings, steps=steps, device="cpu", **options)  # type: ignore[arg-type]
    return out
