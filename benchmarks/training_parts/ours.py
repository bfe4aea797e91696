"""Regard's own steps, as the trainer makes them: the loader's thread, and an Optimisation."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import torch

from regard.batches.corpus import StoredCorpus
from regard.batches.loader import Loader, LoaderSettings
from regard.batches.rows import Batch
from regard.models.transformer import ARCHITECTURE, Transformer, TransformerSettings
from regard.tasks.translation import TASK
from regard.training.distribution import Processes
from regard.training.machine.precision import precision_for
from regard.training.optimisation import Optimisation
from regard.training.training_settings import TrainingSettings
from training_parts import corpora
from training_parts.scale import (
    ROW,
    SMOOTHING,
    Figures,
    Scale,
    free_memory,
    most_memory,
    reset_memory,
    used_memory,
    wait,
)

RATE = 1e-4


class Done(NamedTuple):
    """What a step trained on."""

    tokens: int  # real target tokens
    filled: int  # real tokens of both sides
    slots: int  # places for them

    @classmethod
    def on(cls, batch: Batch) -> Done:
        """For a step on this batch."""
        real = [int(torch.count_nonzero(side.segments)) for side in batch.streams.values()]
        return cls(batch.tokens, sum(real), batch.streams["source"].tokens.numel() + batch.labels.numel())


Step = Callable[[], Done]


class Warm(NamedTuple):
    """A program that has made its first steps."""

    step: Step
    model: str  # its name in the table of sizes
    first: float  # seconds to the end of the first step
    memory: int  # bytes, at the most


def warmed(make: Callable[[], Step], scale: Scale, *, model: str, more: int) -> Warm:
    """Makes a program, and its first and some more steps."""
    free_memory(scale.device)
    before = used_memory(scale.device)
    reset_memory(scale.device)
    began = time.perf_counter()
    step = make()
    step()
    wait(scale.device)
    first = time.perf_counter() - began
    for _ in range(more):
        step()
    wait(scale.device)
    return Warm(step, model, first, most_memory(scale.device) - before)


def training_settings(scale: Scale, *, tokens: int, compiled: bool, seed: int = 1) -> TrainingSettings:
    table = {
        "batch_tokens": tokens, "row_lengths": [ROW], "label_smoothing": SMOOTHING, "seed": seed,
        "compile": scale.compile if compiled else "no",
    }  # fmt: skip
    return TrainingSettings.read(table, where="benchmark")


def optimisation(
    model: Transformer, settings: TrainingSettings, device: torch.device, precision: str = "auto"
) -> Optimisation:
    return Optimisation(
        model.to(device), settings, device=device, precision=precision_for(device, precision), processes=Processes(),
        say=print, kind=ARCHITECTURE,
    )  # fmt: skip


def loader(corpus: StoredCorpus, tokens: int) -> Loader:
    return Loader(corpus, LoaderSettings(batch_tokens=tokens, row_lengths=(ROW,)), TASK)


def program(settings: TransformerSettings, corpus: StoredCorpus, scale: Scale) -> Step:
    """Steps of a model on the corpus, batch after batch."""
    torch.manual_seed(1)
    training = training_settings(scale, tokens=scale.batch_tokens, compiled=True)
    trained = optimisation(Transformer(settings), training, scale.device)
    stream = loader(corpus, scale.batch_tokens).prefetched(pin=scale.device.type == "cuda")
    numbers = iter(range(1, 10**9))

    def step() -> Done:
        batch, _ = next(stream)
        trained.step(batch, number=next(numbers), rate=RATE)
        return Done.on(batch)

    return step


class Workshop:
    """What the parts share, made when it is first asked for."""

    def __init__(self, scale: Scale, folder: Path, figures: Figures, *, deadline: float) -> None:
        self.scale, self.folder, self.figures, self.deadline = scale, folder, figures, deadline
        self._corpus: StoredCorpus | None = None
        self._base: Warm | None = None

    def late(self) -> bool:
        """Whether the time is over."""
        return time.monotonic() > self.deadline

    def corpus(self) -> StoredCorpus:
        """What speed is measured on."""
        if self._corpus is None:
            self._corpus = corpora.stored(self.folder / "corpus", self.scale)
        return self._corpus

    def base(self) -> Warm:
        """Our base model, trained a little."""
        if self._base is None:
            settings, corpus = self.scale.settings("base"), self.corpus()
            self._base = warmed(lambda: program(settings, corpus, self.scale), self.scale, model="base", more=5)
        return self._base

    def forget_base(self) -> None:
        """Makes room on the GPU."""
        self._base = None
        free_memory(self.scale.device)
