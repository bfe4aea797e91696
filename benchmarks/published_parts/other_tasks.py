"""Runs of benchmarks/published.py whose models do not translate: language models, classifiers, taggers."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from published_parts.run import TEXTS, Result, Run

_LOSSES = ("loss", "perplexity")


def write_text(run: Run, file: Path, recipes: Path) -> None:
    """Puts the text together that a recipe learns from, without the lines of any test set."""
    command = [sys.executable, str(recipes / "family.py"), TEXTS[run.recipe], "--out", str(file)]
    subprocess.run(command, check=True)


def scores_of(folder: Path, *, test: str | None, device: str | None, how: Any, columns: Any) -> Result:
    """What training found on its validation set, for the final and the best weights, and the scores of a test set."""
    from regard.evaluation.other_tasks import measure
    from regard.modelfolder import load

    loaded = load(folder)
    found = loaded.description.scores
    result: Result = {
        "parameters": sum(weight.numel() for weight in loaded.model.parameters()),
        "valid": _task_first(found["averaged"], tested=test is not None),
        "best": _task_first(found.get("best", {}), tested=test is not None),
        "steps": loaded.description.training.get("steps"),
    }
    if test:
        measured = measure(folder, Path(test), device=device, how=how, columns=columns)
        perplexity = measured.scores.get("perplexity_by_token")
        result["test"] = ({} if perplexity is None else {"perplexity": perplexity}) | measured.scores
        result["test_details"] = measured.details
    return result


def _task_first(scores: dict[str, float], *, tested: bool) -> dict[str, float]:
    """What a task is measured by comes first; of a model that only predicts tokens, the figure of its test set."""
    own = {name: value for name, value in scores.items() if name not in _LOSSES}
    losses = reversed(_LOSSES) if tested else _LOSSES
    return own | {name: scores[name] for name in losses if name in scores}
