"""Do the recipes reach what others published? Trains many of them side by side, scores them, and prints one table.

    REGARD_DATA=folder python benchmarks/published.py multi30k-en-de@1,2,3 g2p-medium@1,2,3 --jobs 12 --ensemble
    REGARD_DATA=folder python benchmarks/published.py trec trec-from-masked ptb-words --seeds 1,2,3 --jobs 6

A run is `recipe`, `recipe:language,language` or `recipe:language@seed,seed`; a recipe for many languages takes all of
them where none is named. Every run is a process of its own; small models leave a GPU idle most of the time, so a dozen
of them share one. After each run a line of JSON is added to `results.jsonl` in --out; what is there is not run again.
A run that fails is tried once more after the others: memory that many share may have been short for a moment.
Models that learn from others (recipes/distilled.py) or start from another one (recipes/trec-from-masked.toml) are
trained after those, which are trained for them if need be; every run begins as soon as what it needs is there.
To try configurations, `--only-validation` scores the validation set and never opens the test set; each
`--variant "model.dropout=0.2 training.steps=4000"` is one more configuration of every run.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from published_parts import mps
from published_parts.other_tasks import scores_of, write_text
from published_parts.run import Result, Run
from published_parts.tables import PARTS, table
from regard.files import write

RECIPES = Path(__file__).parents[1] / "recipes"
_MEDIUM = "arm_e bul dut fre geo hbs_latn hun jpn_hira kor vie_hanoi"
LANGUAGES = {
    "g2p-high": "eng_us",
    "g2p-medium": _MEDIUM,
    "g2p-medium-distilled": _MEDIUM,
    "g2p-low": "ady gre ice ita khm lav mlt_latn rum slv wel_sw",
}
LESS_LOOKING = ("validation.pairs=200", "validation.translate_every=1000")  # scores are taken once, at the end
STOPPED = 3  # exit status of a run that was asked to stop


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
    translates = tables["data"].get("task", "translation") == "translation"
    valid = tables["data"]["valid"] if translates else ""  # the run itself scores no test set
    looking = LESS_LOOKING if translates else ()
    files = [f"data.files={json.dumps([str(_text_of(run, out.parent).resolve())])}"] if run.needs_text() else []
    start = run.start()
    began = time.monotonic()
    finished = regard.train(
        out=out,
        source=run.language or None,
        recipe=path,
        settings=[f"test.file={json.dumps(valid)}", *files, *looking, *arguments.set, *run.settings],
        from_model=(arguments.out / start.name).resolve() if start else None,
        seed=run.seeds[0],
        steps=arguments.steps,
        device=arguments.device,
        resume=(out / "training" / "recipe.json").exists(),
        stop=stop,
    )
    if not finished:
        return None
    result = {"seconds": time.monotonic() - began}
    if translates:
        return result | scores(run, [out], arguments)
    test = None if arguments.only_validation else tables.get("test", {}).get("file")
    data = tables["data"]
    how = data.get("documents", "auto")
    return result | scores_of(out, test=test, device=arguments.device, how=how, columns=data.get("columns"))


def write_learned(run: Run, arguments: argparse.Namespace) -> Result:
    """Lets a run's teachers write the words that it learns, or puts together the text that it learns."""
    began = time.monotonic()
    if run.teachers():
        folders = [str(arguments.out / teacher.name) for teacher in run.teachers()]
        command = [sys.executable, str(RECIPES / "distilled.py"), "label", str(RECIPES / f"{run.recipe}.toml")]
        command += ["--source", run.language, "--out", str(_text_of(run, arguments.out)), "--models", *folders]
        command += ["--device", arguments.device] if arguments.device else []
        subprocess.run(command, check=True)
    else:
        write_text(run, _text_of(run, arguments.out), RECIPES)
    return {"seconds": time.monotonic() - began}


def _text_of(run: Run, out: Path) -> Path:
    return out / run.text().name / ("words.tsv.gz" if run.teachers() else "text.txt.gz")


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
        found: Result | None = write_learned(run, arguments)
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
        if run in done and "best" not in done[run]:  # only translators act as one
            seeds[run.alone(0)] += run.seeds
    return [run._replace(seeds=tuple(sorted(found))) for run, found in seeds.items() if len(found) > 1]


def _shown(result: Result) -> str:
    parts = (f"{part} {name} {value:.2f}" for part in PARTS for name, value in result.get(part, {}).items())
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
