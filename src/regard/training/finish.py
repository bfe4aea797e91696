"""The end of a run: the mean of the last checkpoints and the best one, scored, written, described."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors.torch import load_file
from torch import Tensor

from regard import modelfolder, models, tasks
from regard.models.protocols import Model
from regard.settings import Settings
from regard.tokens import Tokenisers
from regard.training.averaging import mean_of
from regard.training.corpora import Corpora
from regard.training.events import read_journal
from regard.training.loop import Trainer
from regard.training.recipe import Recipe
from regard.training.report.card import card
from regard.training.report.report_page import write_report
from regard.training.report.summary import Summary
from regard.training.source_use import ending
from regard.training.surroundings import Surroundings
from regard.training.tasks import Work
from regard.training.validation import Validation
from regard.training.window import perplexity
from regard.version import __version__

METRICS, REPORT, BEST = "metrics.jsonl", "report.html", "best"
_SAMPLES = 20
_DESCRIBED = ("recipe", "corpus", "steps", "tokens", "machine", "search")


class Finished(NamedTuple):
    """A run whose training has ended."""

    recipe: Recipe
    around: Surroundings
    model: Model[Any, Any]
    settings: Settings
    architecture: str
    tokenisers: Tokenisers
    validation: Validation
    trainer: Trainer
    corpora: Corpora


def finish(done: Finished, work: Work, *, reasons: list[str], precision: str) -> None:
    """Writes both model folders and the report."""
    say, trainer = done.around.journal.say, done.trainer
    plan = trainer.course.plan
    cool = plan.steps - plan.cooling // 2 if plan else 0  # what a shortened schedule has made before is left out
    files = trainer.checkpoints.last(done.recipe.training.averaged_checkpoints, say, since=cool)
    averaged = mean_of(files) if files else trainer.weights()
    say(f"The final weights are the mean of {len(files)} checkpoints. Scoring {_count(done):,} held-out {work.unit}.")
    best = trainer.checkpoints.best(say)
    scored = {"best": _scored(done, load_file(best[1]))} if best else {}
    scored["averaged"] = _scored(done, averaged)
    summary = _summary(done, work, scored, reasons, precision)
    if best:
        of_best = summary._replace(search=scored["best"].search)
        _save(done, load_file(best[1]), done.around.out / BEST, of_best, scored["best"].described)
    _save(done, averaged, done.around.out, summary, scored["averaged"].described)
    write_report(done.around.out / REPORT, summary)
    told = ", ".join(f"{name.replace('_', ' ')} {value:.2f}" for name, value in scored["averaged"].scores.items())
    told += "".join(f", {name.replace('_', ' ')} {value:g}" for name, value in summary.search.items())
    say(f"Done: {done.around.out} ({told}).")
    warning = ending(scored["averaged"].scores.get("source_worth"), steps=trainer.progress.step)
    if warning:
        say(warning)


class _Scored(NamedTuple):
    """What a set of weights is like on the held-out examples."""

    scores: dict[str, float]
    search: dict[str, float]  # settings of the search that suit it, such as the length penalty
    samples: list[tuple[str, str, str]]
    described: dict[str, Any]  # what else its folder says about its training


def _scored(done: Finished, weights: Mapping[str, Tensor]) -> _Scored:
    """The losses and scores of these weights, which the model has from now on, and a few of its texts."""
    with torch.no_grad():
        for name, parameter in models.tensors(done.model).items():
            parameter.copy_(weights[name])
    validation, held_out = done.validation, done.validation.held_out
    loss, likelihood = validation.losses()
    worth = validation.source_worth()
    found = validation.conclude(count=done.recipe.validation.pairs)
    samples = list(zip(held_out.sources, held_out.references, found.texts, strict=False))[:_SAMPLES]
    measured = {"loss": loss, "perplexity": perplexity(likelihood)}
    measured |= {} if worth is None else {"source_worth": worth}
    return _Scored(measured | found.scores, found.search, samples, found.described)


def _vocabularies(done: Finished, work: Work) -> dict[str, int]:
    """Of both sides, or of the one that there is."""
    if len(tasks.task(work.task).streams) == 1:
        return {"text": done.tokenisers.source.size}
    return {"source": done.tokenisers.source.size, "target": done.tokenisers.target.size}


def _count(done: Finished) -> int:
    return min(done.recipe.validation.pairs, len(done.validation.held_out))


def _save(
    done: Finished, weights: Mapping[str, Tensor], folder: Path, summary: Summary, described: Mapping[str, Any]
) -> None:
    with torch.no_grad():
        for name, parameter in models.tensors(done.model).items():
            parameter.copy_(weights[name])
    modelfolder.save(
        folder,
        done.model,
        architecture=done.architecture,
        settings=done.settings,
        languages=summary.languages,
        training={
            "tokenisers": done.tokenisers.hash,
            **{key: getattr(summary, key) for key in _DESCRIBED},
            **described,
        },
        scores={**summary.scores, "signatures": summary.signatures},
        tokeniser=done.tokenisers.files(),
        task=summary.task,
        card=card(summary, best=folder.name == BEST and folder != done.around.out),
        beside_others=folder == done.around.out or _holds_something_else(folder),
    )


def _holds_something_else(folder: Path) -> bool:
    return folder.exists() and not (folder / modelfolder.DESCRIPTION).exists()


def _summary(
    done: Finished,
    work: Work,
    scored: Mapping[str, _Scored],
    reasons: list[str],
    precision: str,
) -> Summary:
    description = done.corpora.training.description
    counts = ("kept", "dropped", "changed", "bad", "passed_over", "summary")
    device = done.around.device
    named = torch.cuda.get_device_name(device) if device.type == "cuda" else "CPU"
    return Summary(
        name=done.around.out.name,
        languages=work.languages(done.recipe.data),
        architecture=done.architecture,
        parameters=sum(parameter.numel() for parameter in done.model.parameters()),
        recipe=done.recipe.table(),
        reasons=reasons,
        corpus={key: description[key] for key in counts if key in description},
        vocabulary=_vocabularies(done, work),
        validation=done.corpora.validation,
        steps=done.trainer.progress.step,
        tokens=done.trainer.progress.tokens,
        seconds=done.trainer.progress.seconds,
        machine={"device": named, "precision": precision, "torch": torch.__version__, "regard": __version__},
        command=done.around.command,
        events=read_journal(done.around.out / METRICS),
        scores={name: each.scores for name, each in scored.items()},
        signatures=work.signatures(),
        samples=scored["averaged"].samples,
        search=scored["averaged"].search,
        task=work.task,
    )
