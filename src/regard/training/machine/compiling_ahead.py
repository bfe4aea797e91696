"""Compiles a training step while the corpus is prepared.

Reading a large corpus and training its tokeniser take longer than compiling the model, and need no GPU. So another
process builds the model with the vocabulary that the recipe names and computes gradients once for each shape of a
batch. PyTorch keeps the compiled code in its cache on disk, where training finds it. A wrong guess costs nothing but
the other process's time: training then compiles by itself, as it does where this process fails.
"""

from __future__ import annotations

import os
import select
import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from regard import models, tasks
from regard.batches.loader import LoaderSettings
from regard.models.protocols import Model
from regard.training.distribution import Processes
from regard.training.machine.precision import precision_for, worth_compiling
from regard.training.optimisation import Optimisation, work
from regard.training.recipe import Recipe
from regard.training.resuming import read_recipe

_LONGEST_WAIT = 120.0  # seconds for a shape that is being compiled when the corpus is ready
_LONGEST = 64  # tokens of a sentence in made-up batches; compiled code does not depend on it


@contextmanager
def compiling_ahead(
    recipe: Recipe, folder: Path, *, device: torch.device, processes: Processes
) -> Generator[subprocess.Popen[bytes] | None]:
    """While the block runs, another process compiles the step of the recipe in `folder`, if that is of use.

    After the block, the process finishes the shape that it is working on, so that its memory is free. An error in the
    block ends it at once.
    """
    if not is_worthwhile(recipe, device=device, processes=processes):
        yield None
        return
    # The process must find the same compiler cache and the same GPU, so it has the same environment.
    command = [sys.executable, "-m", __name__, str(folder), str(device)]
    beside = subprocess.Popen(  # noqa: S603  our own program
        command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=os.environ
    )
    try:
        yield beside
        assert beside.stdin
        beside.stdin.close()  # no further shapes
        beside.wait(_LONGEST_WAIT)
    except subprocess.TimeoutExpired:
        pass
    finally:
        beside.kill()
        beside.wait()
        if beside.stdin:
            beside.stdin.close()


def is_worthwhile(recipe: Recipe, *, device: torch.device, processes: Processes) -> bool:
    """Whether the step will be compiled, for a new model whose vocabulary can be predicted, by a single process."""
    if device.type != "cuda" or processes.grouped or recipe.data.adapt or recipe.tokeniser.kind != "subwords":
        return False
    if tasks.task(recipe.data.task).labels_in_data:
        return False
    with torch.device("meta"):  # without memory for its weights
        model = _predicted(recipe)
    return worth_compiling(device, recipe.training.compile, work=work(model, recipe.training))


def compile_shapes(recipe: Recipe, device: torch.device, *, enough: Callable[[], bool] = lambda: False) -> list[int]:
    """Computes gradients for every shape of a batch, the shortest rows first, until `enough`; the lengths of these."""
    kind = models.named_by(recipe.model)
    model = _predicted(recipe).to(device)
    optimisation = Optimisation(
        model,
        recipe.training,
        device=device,
        precision=precision_for(device, recipe.training.precision)._replace(whole=kind.rounds),
        processes=Processes(),
        say=lambda _: None,
        kind=kind,
    )
    done: list[int] = []
    rows = LoaderSettings(batch_tokens=recipe.training.batch_tokens, row_lengths=recipe.training.row_lengths)
    for length in rows.row_lengths:
        if enough():
            break
        optimisation.try_shapes({length: rows.rows(length)}, longest=_LONGEST, streams=kind.vocabularies)
        done.append(length)
    return done


def _predicted(recipe: Recipe) -> Model[Any, Any]:
    """A new model with as many tokens as the recipe allows, which a large corpus reaches."""
    chosen = recipe.tokeniser
    sizes = {"source": chosen.vocabulary, "target": chosen.target_vocabulary or chosen.vocabulary}
    sizes["text"] = chosen.vocabulary
    settings = models.read_settings(models.sized(recipe.model, sizes), where="model")
    model: Model[Any, Any] = models.named_by(recipe.model).build(settings)
    return model


def _is_closed() -> bool:
    """Whether the parent has closed our standard input: it needs no further shapes, or has ended."""
    ready, _, _ = select.select([sys.stdin], [], [], 0)
    return bool(ready)


if __name__ == "__main__":
    folder, name = sys.argv[1:]
    compile_shapes(read_recipe(Path(folder)), torch.device(name), enough=_is_closed)
