"""Do the recipes reach what others published? Trains many of them side by side, scores them, and prints one table.

    REGARD_DATA=folder python benchmarks/published.py multi30k-en-de@1,2,3 g2p-medium@1,2,3 --jobs 12 --ensemble

A run is `recipe`, `recipe:language,language` or `recipe:language@seed,seed`; a recipe for many languages takes all of
them where none is named. Every run is a process of its own; small models leave a GPU idle most of the time, so a dozen
of them share one. After each run a line of JSON is added to `results.jsonl` in --out; what is there is not run again.
A run that fails is tried once more after the others: memory that many share may have been short for a moment.
Models that learn from others (recipes/distilled.py) are trained after those, which are trained for them if need be;
every run begins as soon as what it needs is there.
To try configurations, `--only-validation` scores the validation set and never opens the test set; each
`--variant "model.dropout=0.2 training.steps=4000"` is one more configuration of every run.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from published_parts import mps
from regard.files import write

RECIPES = Path(__file__).parents[1] / "recipes"
_MEDIUM = "arm_e bul dut fre geo hbs_latn hun jpn_hira kor vie_hanoi"
LANGUAGES = {
    "g2p-high": "eng_us",
    "g2p-medium": _MEDIUM,
    "g2p-medium-distilled": _MEDIUM,
    "g2p-low": "ady gre ice ita khm lav mlt_latn rum slv wel_sw",
}
TAUGHT_BY = {"g2p-medium-distilled": "g2p-medium"}  # by recipes/distilled.py
TEACHERS = range(1, 9)  # their seeds, as they are there
LESS_LOOKING = ("validation.pairs=200", "validation.translate_every=1000")  # scores are taken once, at the end
_LONGEST_NAME = 150  # bytes
STOPPED = 3  # exit status of a run that was asked to stop

Result = dict[str, Any]


class Run(NamedTuple):
    """One training; with several seeds, an ensemble of their models; without a seed, the words to learn."""

    recipe: str
    language: str
    seeds: tuple[int, ...]
    settings: tuple[str, ...]  # of the variant, in the order in which they were given

    @property
    def name(self) -> str:
        """Its folder."""
        variant = "+".join(setting.replace("/", "-").replace(" ", "") for setting in self.settings)
        if len(variant.encode()) > _LONGEST_NAME:  # folders' names have a limit
            variant = f"variant-{sha256(variant.encode()).hexdigest()[:16]}"
        seeds = "+".join(str(seed) for seed in self.seeds)
        return "_".join(part for part in (self.recipe, self.language, variant, f"seed{seeds}") if part)

    def alone(self, seed: int) -> Run:
        """The training of one of the seeds."""
        return self._replace(seeds=(seed,))

    def teachers(self) -> list[Run]:
        """The trainings that it learns from."""
        taught_by = TAUGHT_BY.get(self.recipe)
        return [Run(taught_by, self.language, (seed,), ()) for seed in TEACHERS] if taught_by else []

    def words(self) -> Run:
        """What its teachers write for it."""
        return Run(self.recipe, self.language, (), ())

    def needs(self) -> list[Run]:
        """What must be done before it."""
        if not self.seeds:
            return self.teachers()
        if len(self.seeds) > 1:
            return [self.alone(seed) for seed in self.seeds]
        return [self.words()] if self.teachers() else []

    def with_needs(self) -> list[Run]:
        """All that must be done before it, and it."""
        return [*(needed for need in self.needs() for needed in need.with_needs()), self]


def runs(arguments: argparse.Namespace) -> list[Run]:
    """All trainings, those that take longest first."""
    found: dict[Run, float] = {}
    variants = [tuple(variant.split()) for variant in arguments.variant] or [()]
    for asked in arguments.runs:
        name, _, seeds = asked.partition("@")
        recipe, _, languages = name.partition(":")
        if not (RECIPES / f"{recipe}.toml").is_file():
            sys.exit(f"{asked}: there is no recipes/{recipe}.toml")
        chosen = languages.split(",") if languages else LANGUAGES.get(recipe, "").split(" ")
        for language in chosen:
            for settings in variants:
                for seed in (seeds or arguments.seeds).split(","):
                    run = Run(recipe, language, (int(seed),), settings)
                    found[run] = _cost(run, arguments)
    return sorted(found, key=lambda run: -found[run])


def _cost(run: Run, arguments: argparse.Namespace) -> float:
    """In tokens; enough to tell long trainings from short ones."""
    from regard.training.recipe import merged, parsed, read_file

    tables = merged(read_file(RECIPES / f"{run.recipe}.toml")[1], parsed([*arguments.set, *run.settings])[0])
    training = tables.get("training", {})
    return float(training.get("steps", 8_000)) * (10_000 + float(training.get("batch_tokens", 8_192)))


def train_and_score(run: Run, out: Path, arguments: argparse.Namespace) -> Result | None:
    """In a process of its own: what the run gave; None where it was stopped."""
    from threading import Event

    import regard
    from regard.training.recipe import read_file, with_paths

    stop = Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    path = RECIPES / f"{run.recipe}.toml"
    tables = with_paths(read_file(path)[1], {"source": run.language})
    valid = f"test.file={json.dumps(tables['data']['valid'])}"  # the run itself is to score nothing but this
    files = [f"data.files={json.dumps([str(_words_of(run, out.parent).resolve())])}"] if run.teachers() else []
    began = time.monotonic()
    finished = regard.train(
        out=out,
        source=run.language or None,
        recipe=path,
        settings=[valid, *files, *LESS_LOOKING, *arguments.set, *run.settings],
        seed=run.seeds[0],
        steps=arguments.steps,
        device=arguments.device,
        resume=(out / "training" / "recipe.json").exists(),
        stop=stop,
    )
    if not finished:
        return None
    return {"seconds": time.monotonic() - began, **scores(run, [out], arguments)}


def write_words(run: Run, arguments: argparse.Namespace) -> Result:
    """Lets a run's teachers write the words that it is to learn."""
    folders = [str(arguments.out / teacher.name) for teacher in run.teachers()]
    command = [sys.executable, str(RECIPES / "distilled.py"), "label", str(RECIPES / f"{run.recipe}.toml")]
    command += ["--source", run.language, "--out", str(_words_of(run, arguments.out)), "--models", *folders]
    command += ["--device", arguments.device] if arguments.device else []
    began = time.monotonic()
    subprocess.run(command, check=True)
    return {"seconds": time.monotonic() - began}


def _words_of(run: Run, out: Path) -> Path:
    return out / run.words().name / "words.tsv.gz"


def scores(run: Run, folders: Sequence[Path], arguments: argparse.Namespace) -> Result:
    """Of one model or of several together, on the validation set and, unless forbidden, on the test set."""
    import regard
    from regard.training.recipe import Recipe, read_file, with_paths
    from regard.training.testing import score_file

    translator = regard.load(folders, device=arguments.device, engine="torch")
    recipe = Recipe.read(json.loads((folders[0] / "training" / "recipe.json").read_bytes()), where=str(folders[0]))
    assert recipe.test
    tables = with_paths(read_file(RECIPES / f"{run.recipe}.toml")[1], {"source": run.language})
    files = {"valid": recipe.data.valid, "test": None if arguments.only_validation else tables["test"]["file"]}
    result: Result = {"parameters": sum(weight.numel() for model in translator.models for weight in model.parameters())}
    for name, file in files.items():
        if name == "valid" and len(folders) == 1:
            found = json.loads((folders[0] / "test.json").read_text())["scores"]  # the run has done that itself
        elif file:
            scored = score_file(translator, recipe, recipe.test.model_copy(update={"file": file}))
            found = scored.table()["scores"]
            write(folders[0] / f"{name}-{len(folders)}.txt", "\n".join(scored.translations) + "\n")
        else:
            continue
        result[name] = {score["metric"]: score["value"] for score in found}
        result[f"{name}_details"] = {score["metric"]: score["details"] for score in found}
        result["signatures"] = {score["metric"]: score["signature"] for score in found}
    return result


def child(arguments: argparse.Namespace) -> None:
    """One run, told by the parent as JSON; its result goes to a file that the parent reads."""
    recipe, language, seeds, settings = json.loads(arguments.one)
    run = Run(recipe, language, tuple(seeds), tuple(settings))
    out: Path = arguments.out / run.name
    out.mkdir(parents=True, exist_ok=True)
    if not run.seeds:
        found: Result | None = write_words(run, arguments)
    elif len(run.seeds) > 1:
        began = time.monotonic()
        found = scores(run, [arguments.out / run.alone(seed).name for seed in run.seeds], arguments)
        found = (found or {}) | {"seconds": time.monotonic() - began}
    else:
        found = train_and_score(run, out, arguments)
    if found is None:
        sys.exit(STOPPED)
    write(out / "result.json", json.dumps(found))


class Pool:
    """Processes side by side."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.arguments = arguments
        self.file: Path = arguments.out / "results.jsonl"
        self.done: dict[Run, Result] = self._known()
        self.waiting: list[Run] = []
        self.failed: set[Run] = set()  # once
        self.running: dict[Run, subprocess.Popen[bytes]] = {}
        self.began = time.monotonic()
        self.environment = os.environ | {
            "OMP_NUM_THREADS": "1",
            "REGARD_CACHE": os.environ.get("REGARD_CACHE", str(arguments.out / "cache")),
            "TORCHINDUCTOR_COMPILE_THREADS": str(max(1, (os.cpu_count() or 1) // arguments.jobs)),
        }

    def work(self, todo: Sequence[Run]) -> None:
        """Runs all of them, unless the time is up before; what needs a run that failed is left."""
        self.waiting = [run for run in todo if run not in self.done]
        told = time.monotonic()
        while self._start_next() or self.running:
            time.sleep(0.2)
            self._collect()
            if self.minutes() > self.arguments.budget_minutes:
                self.stop()
                return
            if time.monotonic() - told > 30:
                told = time.monotonic()
                steps = " ".join(f"{run.name}:{_last_step(self.arguments.out / run.name)}" for run in self.running)
                print(f"{self.minutes():5.1f} min  {len(self.waiting)} waiting  {steps}", flush=True)
        for run in self.waiting:
            print(f"{run.name}: not done, since what it needs failed.", flush=True)

    def minutes(self) -> float:
        """Since the beginning."""
        return (time.monotonic() - self.began) / 60

    def stop(self) -> None:
        """Ends what is running, each with a checkpoint."""
        print(f"The time is up: {len(self.running)} runs are stopped.", flush=True)
        for process in self.running.values():
            process.terminate()
        until = time.monotonic() + 15
        while self.running and time.monotonic() < until:
            time.sleep(0.2)
            self._collect()
        for process in self.running.values():
            process.kill()

    def _start_next(self) -> bool:
        """Starts as many as there is room for, of those whose needs are done; whether there was any."""
        ready = [run for run in self.waiting if all(need in self.done for need in run.needs())]
        starting = ready[: max(0, self.arguments.jobs - len(self.running))]
        for run in starting:
            self.waiting.remove(run)
            self._start(run)
        return bool(starting)

    def _start(self, run: Run) -> None:
        out = self.arguments.out / run.name
        out.mkdir(parents=True, exist_ok=True)
        arguments = [sys.executable, __file__, "--one", json.dumps(run), "--out", str(self.arguments.out)]
        arguments += ["--only-validation"] * self.arguments.only_validation
        for name in ("device", "steps"):
            value = getattr(self.arguments, name)
            arguments += [f"--{name}", str(value)] if value is not None else []
        for setting in self.arguments.set:
            arguments += ["--set", setting]
        with (out / "log.txt").open("ab") as log:
            self.running[run] = subprocess.Popen(arguments, stdout=log, stderr=log, env=self.environment)

    def _collect(self) -> None:
        for run, process in list(self.running.items()):
            if process.poll() is None:
                continue
            del self.running[run]
            out = self.arguments.out / run.name
            if process.returncode:
                last = "stopped" if process.returncode == STOPPED else (out / "log.txt").read_text()[-600:]
                print(f"{self.minutes():5.1f} min  {run.name}: exit {process.returncode}: {last}", flush=True)
                if process.returncode != STOPPED and run not in self.failed:
                    self.failed.add(run)
                    self.waiting.append(run)
                continue
            self.done[run] = json.loads((out / "result.json").read_text())
            with self.file.open("a") as file:
                file.write(json.dumps(run._asdict() | self.done[run]) + "\n")
            print(f"{self.minutes():5.1f} min  {run.name}: {_shown(self.done[run])}", flush=True)

    def _known(self) -> dict[Run, Result]:
        lines = self.file.read_text().splitlines() if self.file.exists() else []
        known = [json.loads(line) for line in lines]
        return {
            Run(*(tuple(line[key]) if key in ("seeds", "settings") else line[key] for key in Run._fields)): line
            for line in known
        }


def ensembles(todo: Sequence[Run], done: dict[Run, Result]) -> list[Run]:
    """All seeds together, where there are several that are done."""
    seeds: dict[Run, list[int]] = defaultdict(list)
    for run in todo:
        if run in done:
            seeds[run.alone(0)] += run.seeds
    return [run._replace(seeds=tuple(sorted(found))) for run, found in seeds.items() if len(found) > 1]


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
        for language, results in sorted(languages.items()):
            cells = [_mean([_value(result, part, metric) for result in results.values()]) for part in _PARTS]
            seconds = statistics.mean(result["seconds"] for result in results.values())
            models = kind if len(results) == 1 else f"{len(results)} {kind}"
            rows.append(_row(recipe, " ".join(settings), language, models, metric, *cells, f"{seconds:.0f}"))
        if len(languages) > 1:
            cells = [_mean(_over_languages(languages, part, metric)) for part in _PARTS]
            rows.append(_row(recipe, " ".join(settings), f"mean of {len(languages)}", kind, metric, *cells, ""))
    return "\n".join(rows)


_PARTS = ("valid", "test")


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


def _figure(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _mean(values: Sequence[float | None]) -> str:
    """The mean and, of several, how far they spread (the standard deviation)."""
    known = [value for value in values if value is not None]
    if len(known) < 2:
        return _figure(_plain_mean(known))
    return f"{statistics.mean(known):.2f} ± {statistics.stdev(known):.2f}"


def _shown(result: Result) -> str:
    parts = (f"{part} {name} {value:.2f}" for part in _PARTS for name, value in result.get(part, {}).items())
    return f"{', '.join(parts)} ({result['seconds']:.0f} s)"


def _last_step(out: Path) -> int:
    """The last step that a run has told of."""
    try:
        with (out / "metrics.jsonl").open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - 20_000))
            lines = file.read().splitlines()
    except OSError:
        return 0
    for line in reversed(lines):
        try:
            event = json.loads(line)
        except ValueError:
            continue
        if "step" in event:
            return int(event["step"])
    return 0


def options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="*", default=[], help="recipe[:languages][@seeds]")
    parser.add_argument("--out", type=Path, default=Path("published-runs"), help="the folder of all runs")
    parser.add_argument("--jobs", type=int, default=1, help="so many runs side by side")
    parser.add_argument("--seeds", default="1", help="where a run names none, with commas between them")
    parser.add_argument("--steps", type=int, help="so many steps instead of the recipe's")
    parser.add_argument("--set", action="append", default=[], help="one setting for all runs: table.key=value")
    parser.add_argument("--variant", action="append", default=[], help="a configuration: settings with spaces between")
    parser.add_argument("--only-validation", action="store_true", help="leave the test sets alone")
    parser.add_argument("--ensemble", action="store_true", help="also score all seeds of a run together")
    parser.add_argument("--budget-minutes", type=float, default=float("inf"), help="stop cleanly after so long")
    parser.add_argument("--mps", action="store_true", help="let kernels of all runs share the GPU at the same time")
    parser.add_argument("--device", help="cpu or cuda")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    return parser


def main() -> None:
    arguments = options().parse_args()
    if arguments.one:
        child(arguments)
        return
    if not arguments.runs:  # as `make bench` calls it: without data and hours, say what there is
        print("Nothing is asked for. The recipes are:", *sorted(path.stem for path in RECIPES.glob("*.toml")))
        return
    arguments.out.mkdir(parents=True, exist_ok=True)
    served = arguments.mps and mps.start(arguments.out)
    pool = Pool(arguments)
    todo = runs(arguments)
    try:
        pool.work(list(dict.fromkeys(needed for run in todo for needed in run.with_needs())))
        if arguments.ensemble and pool.minutes() < arguments.budget_minutes:
            pool.work(ensembles(todo, pool.done))
    except KeyboardInterrupt:
        pool.stop()
    finally:
        if served:
            mps.stop()
    print(f"\n{table(pool.done)}\n\n{len(pool.done)} runs, {pool.minutes():.1f} minutes")


if __name__ == "__main__":
    main()
