"""A training run from beginning to end: text in, a model folder out. After any stop, the same command goes on.

my-model/
    regard.json, weights.safetensors, tokeniser/, README.md      the model folder: the mean of the last checkpoints
    best/                                                        the model folder of the best validation
    report.html, metrics.jsonl                                   what happened
    test.json, test.txt                                          scores and translations of the recipe's test set
    training/                                                    recipe, tokeniser, checkpoints, to go on from; a lock
"""

from __future__ import annotations

import shutil
from collections.abc import Collection
from pathlib import Path
from typing import Any

import torch

from regard import modelfolder, models
from regard.batches.loader import Loader, LoaderSettings
from regard.errors import TrainingError
from regard.models.protocols import Architecture, Model
from regard.settings import Settings
from regard.tokens import Tokenisers
from regard.training.adapting import adapted
from regard.training.checkpoints import Checkpoints
from regard.training.corpora import Corpora, check_positions
from regard.training.events import Planned, Restarted
from regard.training.finish import Finished, finish
from regard.training.loop import Trainer
from regard.training.machine.compiling_ahead import compiling_ahead
from regard.training.machine.memory import keep_freed_memory
from regard.training.machine.precision import Precision, precision_for
from regard.training.optimisation import Optimisation
from regard.training.recipe import Recipe, put_together
from regard.training.resuming import check_data, may_restart, write_recipe, write_restarted
from regard.training.source_use import safer
from regard.training.surroundings import Surroundings
from regard.training.tasks import work
from regard.training.validation import Looking


def run(recipe: Recipe, around: Surroundings, *, reasons: list[str], resume: bool, changed_data: bool = False) -> bool:
    """Trains by the recipe; True when the model folder is finished, False where it was stopped before.

    A run that goes on needs the data that it began with, unless `changed_data` accepts others.
    """
    if around.device.type == "cpu":
        keep_freed_memory()
    precision = precision_for(around.device, recipe.training.precision)
    around.journal.say(f"Training on {around.device} in {precision.name}: {precision.why}.")
    given = around.processes.share(may_restart(around.work) if around.processes.first else None)
    ended = _attempt(recipe, around, precision, reasons, resume=resume, changed_data=changed_data, again=given)
    if ended is not None:
        return ended
    recipe, more = _safer(recipe, around, given or ())
    ended = _attempt(recipe, around, precision, [*reasons, *more], resume=False, changed_data=False, again=None)
    assert ended is not None, "a run restarts once"
    return ended


def _attempt(
    recipe: Recipe,
    around: Surroundings,
    precision: Precision,
    reasons: list[str],
    *,
    resume: bool,
    changed_data: bool,
    again: list[str] | None,
) -> bool | None:
    """Trains by the recipe; None where the model ignores its source and the run starts again, if `again` allows."""
    task = work(recipe.data.task)
    loaded = modelfolder.load(recipe.data.adapt) if recipe.data.adapt else None
    with compiling_ahead(recipe, around.work, device=around.device, processes=around.processes):
        tokenisers = Tokenisers.from_files(loaded.tokeniser) if loaded else task.tokenisers(recipe, around)
        corpora = task.corpora(recipe, around, tokenisers)
    if around.processes.first:
        check_data(recipe, around, corpora, accept=changed_data)
        write_recipe(around.work, recipe)
    around.journal.say(f"{len(corpora.training):,} {task.unit} to train on. {corpora.validation}")
    model, settings, architecture = _model(recipe, tokenisers, corpora, loaded)
    model = model.to(around.device)
    kind = models.architecture(architecture)
    check_positions(corpora, kind, settings)
    precision = precision._replace(whole=kind.rounds)
    _check_disk(around.work, model, recipe)
    validation = task.validation(
        Looking(
            model,
            tokenisers,
            corpora.held_out,
            corpora.shape,
            recipe.training,
            recipe.validation,
            around.device,
            precision,
            around.processes,
            kind,
        )
    )
    trainer = _trainer(recipe, around, model, settings, corpora, precision, kind, may_restart=again is not None)
    if resume and trainer.resume():
        around.journal.say(f"Resuming after step {trainer.progress.step:,}.")
    if not trainer.run(validation.look):
        return False
    if trainer.wants_restart:
        return None
    if around.processes.first:
        done = Finished(recipe, around, model, settings, architecture, tokenisers, validation.alone(), trainer, corpora)
        finish(done, task, reasons=reasons, precision=precision.name)
        if recipe.test and recipe.test.file:
            task.test(recipe, around)
    around.processes.wait()
    return True


def _safer(recipe: Recipe, around: Surroundings, given: Collection[str]) -> tuple[Recipe, list[str]]:
    """The recipe with safer settings, stored, with nothing left of the first attempt; and the reasons, as sentences.

    Checkpoints go first: if the process ends in between, the run that is resumed starts from the beginning.
    """
    changes = safer(recipe, given)
    changed = put_together([recipe.table(), changes], where="safer settings")
    listed = ", ".join(
        f"{table}.{key}={value:g}" if isinstance(value, float) else f"{table}.{key}={value}"
        for table, values in changes.items()
        for key, value in values.items()
    )
    told = f"Starting again with safer settings: {listed}. A run does this at most once."
    if around.processes.first:
        Checkpoints(around.work / "checkpoints").discard()
        write_recipe(around.work, changed)
        write_restarted(around.work)
    around.processes.wait()
    around.journal.tell(Restarted(told))
    around.journal.tell(Planned(0, changed.training.steps))
    return changed, [told]


def _model(
    recipe: Recipe, tokenisers: Tokenisers, corpora: Corpora, loaded: modelfolder.ModelFolder | None
) -> tuple[Model[Any, Any], Settings, str]:
    """A new model, or the one that is adapted; its settings and its architecture."""
    torch.manual_seed(recipe.training.seed)
    if loaded:
        return adapted(loaded, recipe.model | corpora.model)
    sizes = {"source": tokenisers.source.size, "target": tokenisers.target.size, "text": tokenisers.source.size}
    table = models.sized(recipe.model | corpora.model, sizes)  # the recipe has embeddings that fit its tokeniser
    settings = models.read_settings(table, where="model")
    architecture = recipe.model.get("architecture", "transformer")
    return models.build(architecture, settings), settings, architecture


def _trainer(
    recipe: Recipe,
    around: Surroundings,
    model: Model[Any, Any],
    settings: Settings,
    corpora: Corpora,
    precision: Precision,
    kind: Architecture,
    *,
    may_restart: bool,
) -> Trainer:
    training = recipe.training
    loader = LoaderSettings(
        batch_tokens=training.batch_tokens,
        row_lengths=training.row_lengths,
        share_rows=kind.shares_rows,
        seed=training.seed,
    )
    optimisation = Optimisation(
        model,
        training,
        device=around.device,
        precision=precision,
        processes=around.processes,
        say=around.journal.say,
        kind=kind,
    )
    return Trainer(
        optimisation,
        Loader(corpora.training, loader, corpora.shape, rank=around.processes.rank, ranks=around.processes.ranks),
        training,
        recipe.validation,
        width=kind.width(settings),
        checkpoints=Checkpoints(around.work / "checkpoints"),
        journal=around.journal,
        stop=around.stop,
        may_restart=may_restart,
    )


def _check_disk(folder: Path, model: Model[Any, Any], recipe: Recipe) -> None:
    """Says before the first step that checkpoints cannot be written, where that can be known."""
    weights = sum(4 * parameter.numel() for parameter in model.parameters())
    needed = weights * (recipe.training.averaged_checkpoints + 3 * 3)  # as many means, and Adam's moments for three
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise TrainingError(
            f"{folder}: this disk has {free / 2**30:.1f} GiB of free space, but checkpoints need "
            f"{needed / 2**30:.1f} GiB.\n  Free some disk space, choose another --out, or keep fewer checkpoints: "
            "--set training.averaged_checkpoints=3"
        )
