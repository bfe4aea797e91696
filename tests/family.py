"""Small models of every task, trained in seconds on made-up text."""

import random
from pathlib import Path

from regard.training.train import train

NOUNS = {"cat": "animal", "dog": "animal", "oak": "plant", "rose": "plant"}
VERBS = ("sees", "likes", "finds")
COMMON = (
    "tokeniser.kind=words",
    "model.d_model=32",
    "model.d_ff=64",
    "model.heads=2",
    "model.d_k=16",
    "model.d_v=16",
    "model.dropout=0.0",
    "training.batch_tokens=512",
    "training.row_lengths=[32]",
    "training.warmup=10",
    "training.peak_rate=0.01",
    "training.label_smoothing=0.0",
    "training.cooldown=0.0",
    "training.averaged_checkpoints=1",
    "validation.every=40",
    "validation.translate_every=1",
)
SINGLE = (*COMMON, "model.layers=1", "model.learned_positions=32")


def sentence(draw: random.Random) -> list[str]:
    return ["the", draw.choice(list(NOUNS)), draw.choice(VERBS), "the", draw.choice(list(NOUNS)), "."]


def documents(path: Path, *, count: int = 400, seed: int = 0) -> Path:
    """A sentence a line: after `sees`, the last noun is that of the beginning."""
    draw = random.Random(seed)  # noqa: S311
    lines = []
    for _ in range(count):
        words = sentence(draw)
        words[4] = words[1]
        lines.append(" ".join(words))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def labelled(path: Path, *, tags: bool, count: int = 400, seed: int = 0) -> Path:
    """Sentences with the kind of their first noun, or with a tag for each word."""
    draw = random.Random(seed)  # noqa: S311
    lines = []
    for _ in range(count):
        words = sentence(draw)
        marks = ["B-NP", "I-NP", "B-VP", "B-NP", "I-NP", "O"]
        lines.append(f"{' '.join(words)}\t{' '.join(marks) if tags else NOUNS[words[1]]}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def model(folder: Path, task: str, data: Path, *more: str, steps: int = 80, **options: object) -> Path:
    """A model of a task, trained on a CPU."""
    settings = (
        *(SINGLE if task != "denoising" else (*COMMON, "model.encoder_layers=1", "model.decoder_layers=1")),
        *more,
    )
    train(data, out=folder, task=task, settings=settings, steps=steps, device="cpu", **options)  # type: ignore[arg-type]
    return folder
