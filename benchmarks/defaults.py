"""How good are the defaults? `--preset auto` beside fixed configurations on many real corpora, and the regret of each.

    REGARD_DATA=folder python benchmarks/defaults.py --prepare corpora
    python benchmarks/defaults.py corpora --out runs --jobs 12 --set training.compile=no
    python benchmarks/defaults.py corpora --out runs --table

`--prepare` cuts the corpora and trains the tokenisers. A machine with a GPU then needs only that folder, and spends no
time on them. Every run is a process of its own. After each, a line of JSON is added to `results.jsonl` in --out; what
is there is not run again, so the command can be stopped and continued. A run that fails is tried again at the end.
Where a configuration of the grid is what auto chooses, both are one run, and its line is written for both. The runs of
a corpus come one after the other, in the order of --only, so that a run of the benchmark that was stopped has whole
rows of its table.

The regret of auto is the best validation chrF of the grid minus its own. `--only` and `--configurations` choose; what
`--set` changes holds for every run, for trials: `--set training.steps=30`.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from math import inf, isinf
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

from defaults_parts.configurations import (
    AUTO,
    GRID,
    advice_for,
    is_what_auto_does,
    key_of,
    settings_of,
    shortened,
    tokeniser_of,
    write_tokeniser,
)
from defaults_parts.corpora import CORPORA, described, prepare
from published_parts import mps
from regard.text.pairs import Languages
from regard.training.advice import Advice

RESULTS = "results.jsonl"
Result = dict[str, Any]


class Run(NamedTuple):
    """One training."""

    corpus: str
    configuration: str
    seed: int

    @property
    def name(self) -> str:
        return f"{self.corpus}_{self.configuration}_seed{self.seed}"


def main() -> None:
    options = _options()
    if options.one:
        _train(options, Run(*json.loads(options.one)))
        return
    names = options.only.split(",") if options.only else [corpus.name for corpus in CORPORA]
    if options.prepare:
        _prepare(Path(options.folder), names, options.limit)
        return
    results = Path(options.out) / RESULTS
    if not options.table:
        _run_all(options, names, results)
    _print_table(_read(results), Path(options.folder))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", help="the prepared corpora")
    parser.add_argument("--prepare", action="store_true", help="write the corpora and tokenisers into the folder")
    parser.add_argument("--limit", type=int, help="with --prepare: at most so many pairs of each, for trials")
    parser.add_argument("--out", default="runs/defaults", help="runs and results")
    parser.add_argument("--only", default="", help="corpora, separated by commas")
    parser.add_argument("--configurations", default="", help="auto or names of the grid, separated by commas")
    parser.add_argument("--seeds", default="1,2", help="of auto; the grid has the first")
    parser.add_argument("--jobs", type=int, default=1, help="runs at once")
    parser.add_argument("--device", default=None)
    parser.add_argument("--set", action="append", default=[], help="a setting of every run")
    parser.add_argument("--most-tokens", type=float, default=inf, help="no run, nor auto, trains on more")
    parser.add_argument("--table", action="store_true", help="print the table of what was run")
    parser.add_argument("--keep", action="store_true", help="keep checkpoints")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    return parser.parse_args()


def _prepare(folder: Path, names: Sequence[str], limit: int | None) -> None:
    for corpus in CORPORA:
        if corpus.name not in names:
            continue
        place = prepare(corpus, folder, limit=limit)
        languages = Languages(corpus.source, corpus.target)
        for fast in (True, False):
            advice = advice_for(place, languages, fast=fast)
            for configuration in (None, *GRID):
                settings = tokeniser_of(configuration, advice)
                try:
                    write_tokeniser(place, settings)
                except Exception as error:  # noqa: BLE001  a vocabulary that a small corpus does not give
                    print(f"{corpus.name}: no tokeniser of {settings.vocabulary:,}: {error}", flush=True)
        print(f"{corpus.name}: {described(place)['pairs']:,} pairs", flush=True)


def _run_all(options: argparse.Namespace, names: Sequence[str], results: Path) -> None:
    results.parent.mkdir(parents=True, exist_ok=True)
    chosen = options.configurations.split(",") if options.configurations else [AUTO, *(each.name for each in GRID)]
    seeds = [int(seed) for seed in options.seeds.split(",")]
    done = {(line["corpus"], line["configuration"], line["seed"]) for line in _read(results)}
    twins = {corpus: _twins(Path(options.folder) / corpus, options) if AUTO in chosen else [] for corpus in names}
    runs = [
        Run(corpus, configuration, seed)
        for corpus in names
        for configuration in chosen
        for seed in (seeds if configuration == AUTO else seeds[:1])
        if configuration not in twins[corpus]
    ]
    waiting, lock = [run for run in runs if tuple(run) not in done], Lock()
    print(f"{len(waiting)} of {len(runs)} runs are left.", flush=True)

    def start(run: Run) -> Run | None:
        result = _process(run, options)
        if result is None:
            return run
        same = twins[run.corpus] if run[1:] == (AUTO, seeds[0]) else []
        lines = [result, *(result | {"configuration": name, "run": AUTO} for name in same)]
        with lock, results.open("a", encoding="utf-8") as file:
            file.write("".join(json.dumps(line) + "\n" for line in lines))
        print(f"{run.name}: chrF {result['chrf']:.1f}, {result['seconds']:.0f} s", flush=True)
        return None

    shared = options.jobs > 1 and mps.start(Path(options.out))
    for attempt in range(2):
        with ThreadPoolExecutor(options.jobs) as pool:
            waiting = [run for run in pool.map(start, waiting) if run]
        if waiting and attempt:
            print("Failed: " + ", ".join(run.name for run in waiting), flush=True)
    if shared:
        mps.stop()


def _twins(corpus: Path, options: argparse.Namespace) -> list[str]:
    """The configurations that do what auto does on this corpus."""
    _, advice = _languages_and_advice(corpus, options)
    return [each.name for each in GRID if is_what_auto_does(each, advice)]


def _languages_and_advice(corpus: Path, options: argparse.Namespace) -> tuple[Languages, Advice]:
    from regard.devices import device_for

    table = described(corpus)
    languages = Languages(table["source"], table["target"])
    advice = advice_for(corpus, languages, fast=device_for(options.device).type == "cuda")
    return languages, shortened(advice, options.most_tokens)


def _process(run: Run, options: argparse.Namespace) -> Result | None:
    """The result of a run in a process of its own; None where it failed."""
    place = Path(options.out) / run.name
    place.parent.mkdir(parents=True, exist_ok=True)
    sets = [part for setting in options.set for part in ("--set", setting)]
    more = ["--most-tokens", str(options.most_tokens), *(["--device", options.device] if options.device else [])]
    command = [sys.executable, __file__, options.folder, "--out", options.out, "--one", json.dumps(run), *sets, *more]
    began = time.monotonic()
    messages = place.with_name(f"{run.name}.log")
    with messages.open("w", encoding="utf-8") as log:
        threads = {"OMP_NUM_THREADS": "1"} if options.jobs > 1 else {}
        ended = subprocess.run(command, stdout=log, stderr=subprocess.STDOUT, check=False, env=os.environ | threads)
    if ended.returncode:
        print(f"{run.name} failed: {messages}", flush=True)
        return None
    result = _result(run, place, options, time.monotonic() - began)
    if not options.keep:
        shutil.rmtree(place / "training" / "checkpoints", ignore_errors=True)
        shutil.rmtree(place / "best", ignore_errors=True)
    return result


def _train(options: argparse.Namespace, run: Run) -> None:
    """The training itself, in this process."""
    from regard.training.train import train

    corpus, place = Path(options.folder) / run.corpus, Path(options.out) / run.name
    languages, advice = _languages_and_advice(corpus, options)
    configuration = next((each for each in GRID if each.name == run.configuration), None)
    chosen = configuration or advice.steps * advice.batch_tokens > options.most_tokens - advice.batch_tokens
    tokeniser = corpus / "tokenisers" / key_of(tokeniser_of(configuration, advice))
    own = place / "training" / "tokeniser"
    begun = (place / "training" / "recipe.json").exists()
    if tokeniser.is_dir() and not begun:
        shutil.copytree(tokeniser, own, dirs_exist_ok=True)
    train(
        corpus / "train.tsv",
        source=languages.source,
        target=languages.target,
        out=place,
        valid=corpus / "valid.tsv",
        preset=configuration.preset if configuration else "auto",
        settings=[*(settings_of(configuration, advice) if chosen else ()), *options.set],
        seed=run.seed,
        device=options.device,
        resume=begun,
        also_tell=lambda event: print(event, flush=True) if type(event).__name__ != "Stepped" else None,
    )


def _result(run: Run, place: Path, options: argparse.Namespace, seconds: float) -> Result:
    table = json.loads((place / "regard.json").read_text("utf-8"))
    began = json.loads((place / "training" / "began.json").read_text("utf-8"))
    recipe, scores = table["training"]["recipe"], table["scores"]["averaged"]
    keys = {"model": ("norm", "dropout", "d_model"), "training": ("peak_rate", "batch_tokens", "steps")}
    chosen = {key: recipe[name].get(key) for name, names in keys.items() for key in names}
    return {
        **run._asdict(),
        **{key: scores.get(key) for key in ("chrf", "bleu", "loss", "source_worth", "length_ratio")},
        "length_penalty": table["training"]["search"]["length_penalty"],
        "preset": began["preset"],
        "vocabulary": recipe["tokeniser"]["vocabulary"],
        "kind": recipe["tokeniser"]["kind"],
        **chosen,
        "most_tokens": None if isinf(options.most_tokens) else options.most_tokens,
        "trained_steps": table["training"]["steps"],
        "restarted": bool(began.get("restarted")),
        "seconds": round(seconds, 1),
        "machine": table["training"]["machine"],
        "threads": os.environ.get("OMP_NUM_THREADS"),
    }


def _read(results: Path) -> list[Result]:
    if not results.exists():
        return []
    return [json.loads(line) for line in results.read_text("utf-8").split("\n") if line]


def _print_table(results: Sequence[Result], folder: Path) -> None:
    """A row for each corpus: what auto chose, its chrF, the best of the grid, the regret, the source's worth."""
    by_corpus: dict[str, list[Result]] = defaultdict(list)
    for result in results:
        by_corpus[result["corpus"]].append(result)
    heads = ("corpus", "pairs", "auto", "steps", "chrF", "best of the grid", "chrF", "regret", "worth", "best worth")
    print(f"| {' | '.join((*heads, 'length'))} |\n|{' --- |' * (len(heads) + 1)}")
    regrets = []
    for corpus, lines in by_corpus.items():
        autos = [line for line in lines if line["configuration"] == AUTO]
        grid = [line for line in lines if line["configuration"] != AUTO]
        if not autos or not grid:
            continue
        auto, best = autos[0], max(grid, key=lambda line: line["chrf"])
        regret = best["chrf"] - sum(line["chrf"] for line in autos) / len(autos)
        regrets.append(regret)
        cells = (
            corpus,
            f"{described(folder / corpus)['pairs']:,}" if (folder / corpus).exists() else "",
            f"{auto['preset']}, {auto['kind']} {auto['vocabulary']:,}, dropout {auto['dropout']}, "
            f"rate {auto['peak_rate']:g}" + (", restarted" if any(line["restarted"] for line in autos) else ""),
            ", ".join(f"{line['trained_steps']:,}" for line in autos),
            ", ".join(f"{line['chrf']:.1f}" for line in autos),
            best["configuration"],
            f"{best['chrf']:.1f}",
            f"{regret:+.1f}",
            ", ".join(_number(line["source_worth"]) for line in autos),
            _number(max((line["source_worth"] or 0.0 for line in grid), default=None)),
            ", ".join(f"{line['length_ratio']:.2f}" for line in autos),
        )
        print(f"| {' | '.join(cells)} |")
    if regrets:
        mean, most = sum(regrets) / len(regrets), max(regrets)
        print(f"\nRegret: {mean:.2f} on average, {most:.2f} at most ({len(regrets)} corpora).")


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


if __name__ == "__main__":
    main()
