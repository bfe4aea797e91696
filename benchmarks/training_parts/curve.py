"""Part "curve": the same steps in bf16, compiled, and in float32, not compiled; and how far chance alone leads.

Both see the same batches from the same weights; what compiled code draws for dropout differs, so a second float32 run
that draws differently says how much that is.
"""

from __future__ import annotations

import statistics
import time
from copy import deepcopy
from itertools import islice
from pathlib import Path

import torch

from regard.batches.rows import Batch
from regard.files import write
from regard.insight.drawing import Curve, chart
from regard.models.transformer import Transformer
from training_parts import corpora, ours
from training_parts.ours import Workshop
from training_parts.scale import free_memory, wait

PEAK_RATE, WARM_UP = 5e-4, 100
WITHIN = 1.5  # times the difference of two float32 runs


def measure(shop: Workshop, *, picture: Path | None) -> None:
    """Prints the losses and their differences, and draws them."""
    scale = shop.scale
    torch.set_float32_matmul_precision("highest")  # no TF32
    corpus = corpora.stored(shop.folder / "learnable", scale, learnable=True)
    stream = ours.loader(corpus, scale.curve_tokens).batches()
    batches = [batch for batch, _ in islice(stream, scale.curve_steps)]
    torch.manual_seed(1)
    model = Transformer(scale.settings("base"))
    runs = {}
    for name, precision, compiled, seed in (
        ("bf16", "auto", True, 1),
        ("float32", "float32", False, 1),
        ("float32 again", "float32", False, 2),
    ):
        if shop.late():
            print(f"{name}: left out, the time is over.")
            continue
        began = time.perf_counter()
        runs[name] = _losses(shop, deepcopy(model), batches, precision=precision, compiled=compiled, seed=seed)
        print(f"{name}: {len(batches)} steps in {time.perf_counter() - began:.1f} s", flush=True)
        free_memory(scale.device)
    shop.figures["curve"] = runs
    if len(runs) == 3:
        _compare(shop, runs)
        if picture:
            _draw(runs, picture)


def _losses(
    shop: Workshop, model: Transformer, batches: list[Batch], *, precision: str, compiled: bool, seed: int
) -> list[float]:
    """The mean loss of each step."""
    scale = shop.scale
    settings = ours.training_settings(scale, tokens=scale.curve_tokens, compiled=compiled, seed=seed)
    trained = ours.optimisation(model, settings, scale.device, precision)
    losses = []
    for number, batch in enumerate(batches, start=1):
        update = trained.step(batch, number=number, rate=PEAK_RATE * min(1.0, number / WARM_UP))
        losses.append(float(update.losses.smoothed) / batch.tokens)
    wait(scale.device)
    return losses


def _compare(shop: Workshop, runs: dict[str, list[float]]) -> None:
    every = max(1, len(runs["bf16"]) // 20)
    print("step    bf16, compiled    float32, eager    float32, other dropout")
    for place in range(every - 1, len(runs["bf16"]), every):
        print(f"{place + 1:4}    " + "    ".join(f"{losses[place]:14.5f}" for losses in runs.values()))
    last = len(runs["bf16"]) // 2
    found = {}
    for name in ("bf16", "float32 again"):
        apart = [one - other for one, other in zip(runs[name], runs["float32"], strict=True)][-last:]
        sizes = [abs(difference) for difference in apart]
        found[name] = statistics.mean(sizes)
        print(
            f"{name} beside float32, the last {last} steps: largest difference {max(sizes):.5f}, mean "
            f"{found[name]:.5f}, mean with its sign {statistics.mean(apart):+.5f}"
        )
    holds = found["bf16"] <= WITHIN * found["float32 again"]
    told = (
        f"losses {found['bf16']:.5f} apart, those of two float32 runs {found['float32 again']:.5f}; asked: {WITHIN} x"
    )
    shop.figures.setdefault("checks", {})["bf16 follows float32"] = told, holds


def _draw(runs: dict[str, list[float]], path: Path) -> None:
    names = {"float32 again": "float32, again", "float32": "float32, eager", "bf16": "bf16, compiled"}
    curves = [Curve(names[name], [(n + 1.0, loss) for n, loss in enumerate(runs[name])]) for name in names]
    title = "The loss of a base model in bf16, compiled, and in float32"
    write(path, chart(curves, across="step", up="loss", title=title, from_zero=False))
    print(f"drawn: {path}")
