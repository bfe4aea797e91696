"""Strings to scores with signatures. One file per metric, found by its name: `chrf.py` is the metric `chrf`.

What such a file holds:

    METRIC: type[Metric]
        a class with the members of `regard.metrics.metric.Metric`, made from `Options`: it says what is counted in each
        line, and what score the sums of these counts give. `edits.py` and `sacre.py` hold what several have in common.

Many lines are counted by several processes (`processes.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pkgutil import iter_modules

from regard.errors import CorpusError, SettingsError
from regard.metrics.metric import TOKENISED, Counted, Metric, Options, References, Score
from regard.metrics.parallel import counted_by, processes_for
from regard.settings import nearest

__all__ = ["TOKENISED", "Counted", "Options", "Score", "count", "metric", "metrics", "score", "sentence_scores"]


def metrics() -> list[str]:
    """The names of all metrics."""
    modules = (module.name for module in iter_modules(__path__))
    return [name for name in modules if hasattr(import_module(f"{__name__}.{name}"), "METRIC")]


def metric(name: str, options: Options | None = None) -> Metric:
    """The metric in the file of that name."""
    plain = _plain(name)
    if plain not in metrics():
        raise SettingsError(f"metric {name!r}: there is no such metric; {nearest(plain, metrics())}")
    found: type[Metric] = import_module(f"{__name__}.{plain}").METRIC
    return found(options or Options())


def count(
    names: Sequence[str], hypotheses: Sequence[str], references: References, *, options: Options | None = None
) -> list[Counted]:
    """What each metric counts in each line; scores of all lines or some are made of it without counting again.

    `references[n]` are the references of line n, one or more.
    """
    chosen = {_plain(name): metric(name, options) for name in names}
    if not chosen:
        raise SettingsError(f"no metric was given.\n  Available metrics: {', '.join(metrics())}.")
    _check(hypotheses, references)
    processes = processes_for(len(hypotheses))
    if processes > 1:
        counts = counted_by(processes, list(chosen), options or Options(), hypotheses, references)
    else:
        counts = [found.counts(hypotheses, references) for found in chosen.values()]
    return [
        Counted(name, found, own, found.signature(references))
        for (name, found), own in zip(chosen.items(), counts, strict=True)
    ]


def score(
    names: Sequence[str], hypotheses: Sequence[str], references: References, *, options: Options | None = None
) -> list[Score]:
    """The scores of a system's output; `references[n]` are the references of line n, one or more."""
    return [counted.score() for counted in count(names, hypotheses, references, options=options)]


def sentence_scores(
    name: str, hypotheses: Sequence[str], references: References, *, options: Options | None = None
) -> list[float]:
    """The score of each line by itself."""
    return count([name], hypotheses, references, options=options)[0].sentence_values()


def _plain(name: str) -> str:
    return name.strip().lower().replace("-", "_")


def _check(hypotheses: Sequence[str], references: References) -> None:
    strings = isinstance(hypotheses, str) or isinstance(references, str)
    if strings or any(isinstance(line, str) for line in references):
        raise CorpusError(
            "expected lists of strings, but a string was given.\n"
            '  Give a list of outputs, and for each of them a list of references: [["Hallo."], ["Auf Wiedersehen."]]'
        )
    if len(hypotheses) != len(references):
        raise CorpusError(
            f"there are {len(hypotheses):,} outputs, but references for {len(references):,}.\n"
            "  Each output is scored against the references of its line. Check whether lines were lost or joined."
        )
    if not hypotheses:
        raise CorpusError("there is no output to score.\n  Give at least one line.")
    for number, line in enumerate(references, start=1):
        if not line:
            raise CorpusError(f"line {number:,} has no reference.\n  Give a reference, or leave the line out.")
