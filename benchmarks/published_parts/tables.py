"""The results of benchmarks/published.py as a table."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Sequence
from functools import partial
from typing import Any

from published_parts.run import Result, Run

PARTS = ("valid", "test")


def table(done: dict[Run, Result]) -> str:
    """Markdown: a row for each recipe, language and variant, over its seeds, and the mean over languages."""
    groups: dict[tuple[str, tuple[str, ...], str], dict[str, dict[tuple[int, ...], Result]]]
    groups = defaultdict(lambda: defaultdict(dict))
    for run, result in ((run, result) for run, result in done.items() if run.seeds):
        kind = f"ensemble of {len(run.seeds)}" if len(run.seeds) > 1 else "single"
        groups[run.recipe, run.settings, kind][run.language][run.seeds] = result
    rows = [_row("recipe", "settings", "language", "models", "metric", "valid", "test", "seconds a run")]
    rows += ["|" + " --- |" * 8]
    for (recipe, settings, kind), languages in sorted(groups.items()):
        metric = next(iter(next(iter(next(iter(languages.values())).values()))["valid"]))
        shown = partial(_mean, digits=4 if metric == "loss" else 2)
        for language, results in sorted(languages.items()):
            cells = [shown([_value(result, part, metric) for result in results.values()]) for part in PARTS]
            seconds = statistics.mean(result["seconds"] for result in results.values())
            models = kind if len(results) == 1 else f"{len(results)} {kind}"
            rows.append(_row(recipe, " ".join(settings), language, models, metric, *cells, f"{seconds:.0f}"))
        if len(languages) > 1:
            cells = [shown(_over_languages(languages, part, metric)) for part in PARTS]
            rows.append(_row(recipe, " ".join(settings), f"mean of {len(languages)}", kind, metric, *cells, ""))
    return "\n".join(rows)


def _over_languages(languages: dict[str, dict[tuple[int, ...], Result]], part: str, metric: str) -> list[float | None]:
    """For each seed that all languages have, the mean over the languages."""
    shared = set.intersection(*(set(results) for results in languages.values()))
    columns = [[_value(results[seeds], part, metric) for results in languages.values()] for seeds in sorted(shared)]
    return [_plain_mean(column) for column in columns]


def _value(result: Result, part: str, metric: str) -> float | None:
    value: float | None = result.get(part, {}).get(metric)
    return value


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _plain_mean(values: Any) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.mean(known) if known else None


def _mean(values: Sequence[float | None], *, digits: int) -> str:
    """The mean and, of several, how far they spread (the standard deviation)."""
    known = [value for value in values if value is not None]
    if len(known) < 2:
        return f"{known[0]:.{digits}f}" if known else ""
    return f"{statistics.mean(known):.{digits}f} ± {statistics.stdev(known):.{digits}f}"
