"""The models that the Transformer replaced, and the Transformer: trained on the same pairs, and compared.

    python recipes/comparison.py --out OUT [--models NAME ...] [--seeds 3] [--steps N] [--jobs 4] [--set key=value]

Multi30k English to German from $REGARD_DATA/multi30k, by one recipe for each model in recipes/comparison: the same
tokeniser, about as many parameters and as many target tokens. Models are trained `--jobs` at a time, then each is
timed alone. A run that is in OUT already is not repeated. The end is one table in Markdown; OUT/results.json has all.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from regard.files import write
from regard.tasks.translation import TASK

RECIPES = Path(__file__).parent / "comparison"
SEVERAL_SEEDS = ("transformer", "lstm-attention", "lstm", "convs2s")
MODELS = (*SEVERAL_SEEDS, "bytenet", "neural-gpu")
LENGTHS = ((0, 8), (9, 12), (13, 16), (17, 20), (21, 999))  # words of the source
TIMED_SECONDS = 4.0
WARM_UP = 40  # steps, in which every length of rows is met

Result = dict[str, Any]


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="the folder for models and results")
    parser.add_argument("--models", nargs="+", choices=MODELS, default=MODELS)
    parser.add_argument("--seeds", type=int, default=3, help="of the main models; the others have one")
    parser.add_argument("--steps", type=int, help="instead of the recipes'")
    parser.add_argument("--jobs", type=int, default=4, help="trainings at once on one device")
    parser.add_argument("--device", choices=("cpu", "cuda"))
    parser.add_argument(
        "--set", action="append", default=[], help="a setting for all models, such as model.dropout=0.2"
    )
    parser.add_argument("--only", choices=("train", "time"), help=argparse.SUPPRESS)
    parser.add_argument("--seed", type=int, default=1, help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> None:
    chosen = options()
    if chosen.only == "train":
        train(chosen, chosen.models[0], chosen.seed)
    elif chosen.only == "time":
        for name in chosen.models:
            measure(chosen, name)
    else:
        compare(chosen)


def compare(chosen: argparse.Namespace) -> None:
    """Starts a process for each training, then one in which each model is timed."""
    several = {name: chosen.seeds if name in SEVERAL_SEEDS else 1 for name in chosen.models}
    runs = [(name, seed) for seed in range(1, chosen.seeds + 1) for name in chosen.models if seed <= several[name]]
    runs.sort(key=lambda run: run[0] != "neural-gpu")  # the slowest begins first
    with ThreadPoolExecutor(chosen.jobs) as pool:
        done = list(pool.map(lambda run: alone(chosen, "train", [run[0]], run[1]), runs))
    alone(chosen, "time", [name for name in chosen.models if (folder(chosen, name, 1) / "result.json").exists()], 1)
    if not all(done):
        print("Not all models were trained; see the logs above.", file=sys.stderr)
    results = {
        name: {
            "runs": [read(folder(chosen, name, seed) / "result.json") for seed in range(1, several[name] + 1)],
            "speed": read(folder(chosen, name, 1) / "speed.json"),
        }
        for name in chosen.models
    }
    write(chosen.out / "results.json", json.dumps(results, indent=2, ensure_ascii=False) + "\n")
    print(table(results))


def alone(chosen: argparse.Namespace, what: str, names: list[str], seed: int) -> bool:
    """A training or timings in a process of its own, unless all results are there; its log is in --out."""
    result = {"train": "result.json", "time": "speed.json"}[what]
    names = [name for name in names if not (folder(chosen, name, seed) / result).exists()]
    if not names:
        return True
    chosen.out.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, __file__, "--out", str(chosen.out), "--models", *names, "--seed", str(seed)]
    command += ["--only", what]
    command += ["--device", chosen.device] if chosen.device else []
    command += ["--steps", str(chosen.steps)] if chosen.steps else []
    command += [part for setting in chosen.set for part in ("--set", setting)]
    began, path = time.monotonic(), chosen.out / f"{what}-{names[0]}-{seed}.log"
    with path.open("w") as log:
        status = subprocess.run(command, stdout=log, stderr=subprocess.STDOUT, check=False).returncode
    said = "done" if status == 0 else f"failed, see {path}"
    told = f"{what} {', '.join(names)}, seed {seed}: {said} after {time.monotonic() - began:.0f} s"
    print(told, file=sys.stderr, flush=True)
    return status == 0


def folder(chosen: argparse.Namespace, name: str, seed: int) -> Path:
    place: Path = chosen.out / f"{name}-{seed}"
    return place


def read(path: Path) -> Result | None:
    return json.loads(path.read_text()) if path.exists() else None


def train(chosen: argparse.Namespace, name: str, seed: int) -> None:
    """Trains a model by its recipe, which also translates the test set, and writes the scores down."""
    import regard
    from regard import metrics

    place = folder(chosen, name, seed)
    os.environ["REGARD_CACHE"] = str(place / "cache")  # so that runs at the same time do not meet
    shutil.rmtree(place / "model", ignore_errors=True)
    settings = [f"training.checkpoint_every={max(1, chosen.steps // 20)}"] if chosen.steps else []
    regard.train(
        out=place / "model", recipe=RECIPES / f"{name}.toml", settings=[*settings, *chosen.set], steps=chosen.steps,
        seed=seed, device=chosen.device,
    )  # fmt: skip
    sources, references = test_set(place)
    translations = (place / "model" / "test.txt").read_text(encoding="utf-8").split("\n")[:-1]
    if len(translations) != len(sources):  # a model that has learned nothing may spell line breaks
        translations = translated(*loaded(place, chosen.device), sources)
    counted = metrics.count(["bleu", "chrf"], translations, [[line] for line in references])
    words = [len(source.split()) for source in sources]
    groups = {
        f"{low}-{high}": [number for number, count in enumerate(words) if low <= count <= high] for low, high in LENGTHS
    }
    model, description = loaded(place, "cpu")[0].model, json.loads((place / "model" / "regard.json").read_text())
    result = {
        "scores": {one.name: one.score().value for one in counted},
        "signature": counted[0].signature,
        "by_length": {name: counted[0].score(lines).value for name, lines in groups.items() if lines},
        "lines": {name: len(lines) for name, lines in groups.items()},
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "tokens": description["training"]["tokens"],
        "steps": description["training"]["steps"],
        "tokenisers": description["training"]["tokenisers"],
    }
    write(place / "result.json", json.dumps(result, indent=2) + "\n")


def stored_recipe(place: Path) -> Any:
    from regard.training.recipe import Recipe

    return Recipe.read(json.loads((place / "model" / "training" / "recipe.json").read_text()), where=str(place))


def loaded(place: Path, wanted: str | None) -> tuple[Any, Any]:
    """Our own engine and the tokenisers of a trained model."""
    import torch

    from regard import modelfolder
    from regard.devices import device_for
    from regard.tokens import Tokenisers
    from regard.translation.engines.torch import TorchEngine

    device: torch.device = device_for(wanted)
    stored = modelfolder.load(place / "model", device=device)
    tokenisers = Tokenisers.from_files(stored.tokeniser)
    return TorchEngine(stored.model, tokenisers, device=device), tokenisers


def test_set(place: Path) -> tuple[list[str], list[str]]:
    """Sources and references of the recipe's test set."""
    from regard.text.bad_input import BadInput
    from regard.text.corpus import read
    from regard.text.pairs import Languages

    recipe = stored_recipe(place)
    languages = Languages(recipe.data.source, recipe.data.target)
    pairs = list(read([recipe.test.file], languages, bad=BadInput(skip=False)))
    return [pair.source for pair in pairs], [pair.target for pair in pairs]


def translated(engine: Any, tokenisers: Any, sources: Sequence[str]) -> list[str]:
    """The best of beam search, as `regard translate` finds it."""
    from regard.search import SearchSettings

    found = engine.search([tokenisers.source.encode(source) for source in sources], SearchSettings())
    return [tokenisers.target.decode(result.hypotheses[0].ids) for result in found]


def measure(chosen: argparse.Namespace, name: str) -> None:
    """How fast the trained model decodes and goes on training, with the device to itself."""
    import torch

    place = folder(chosen, name, 1)
    os.environ["REGARD_CACHE"] = str(place / "cache")
    translator, (sources, _) = loaded(place, chosen.device), test_set(place)
    translated(*translator, sources)  # every shape is met once
    began = time.perf_counter()
    translated(*translator, sources)
    sentences = len(sources) / (time.perf_counter() - began)
    device = translator[0].device
    speed = {
        "sentences_per_second": sentences,
        "tokens_per_second": tokens_per_second(translator[0].model, translator[1], place, device),
        "device": torch.cuda.get_device_name() if device.type == "cuda" else "CPU",
        "torch": torch.__version__,
    }
    write(place / "speed.json", json.dumps(speed, indent=2) + "\n")


def tokens_per_second(model: Any, tokenisers: Any, place: Path, device: Any) -> float:
    """Target tokens a second over some seconds of training steps, after every shape was seen once."""
    from regard import models
    from regard.batches.loader import Loader, LoaderSettings
    from regard.batches.preparation import prepare
    from regard.training.distribution import Processes
    from regard.training.machine.precision import precision_for
    from regard.training.optimisation import Optimisation

    recipe = stored_recipe(place)
    training = recipe.training
    kind = models.architecture(recipe.model["architecture"])
    loader = Loader(
        prepare(recipe.source(), tokenisers, Path(os.environ["REGARD_CACHE"])),
        LoaderSettings(
            batch_tokens=training.batch_tokens, row_lengths=training.row_lengths, share_rows=kind.shares_rows
        ),
        TASK,
    )
    precision = precision_for(device, training.precision)._replace(whole=kind.rounds)
    optimisation = Optimisation(
        model, training, device=device, precision=precision, processes=Processes(), say=print, kind=kind
    )  # fmt: skip
    if device.type == "cuda":
        optimisation.try_shapes(loader.shapes(), longest=loader.corpus.longest, streams=loader.corpus.streams)
    stream, warm_up = loader.prefetched(), WARM_UP if device.type == "cuda" else 2
    tokens, began = 0, time.perf_counter()
    for number, (batch, _) in enumerate(stream):
        optimisation.step(batch, number=number, rate=1e-9)  # waits for the device: the gradient's norm is looked at
        if number == warm_up:
            tokens, began = 0, time.perf_counter()
        tokens += batch.tokens * (number > warm_up)
        if number > warm_up and time.perf_counter() - began > TIMED_SECONDS:
            break
    stream.close()
    return tokens / (time.perf_counter() - began)


def table(results: dict[str, Any]) -> str:
    """The table in Markdown: means over the seeds, and how far the seeds lie apart."""
    runs = {name: [run for run in result["runs"] if run] for name, result in results.items()}
    finished = {name: found for name, found in runs.items() if found}
    if not finished:
        return "There is no result."
    first = next(iter(finished.values()))[0]
    assert len({run["tokenisers"] for found in finished.values() for run in found}) == 1, "the tokenisers differ"
    groups = list(first["by_length"])
    heads = [
        "model",
        "parameters",
        "target tokens",
        "seeds",
        "BLEU",
        "chrF",
        "tokens/s training",
        "sentences/s decoding",
    ]
    heads += [f"BLEU, {words(group)} ({first['lines'][group]})" for group in groups]
    rows = [heads, ["---", *["---:"] * (len(heads) - 1)]]
    for name, found in finished.items():
        speed = results[name]["speed"] or {"tokens_per_second": float("nan"), "sentences_per_second": float("nan")}
        rows.append(
            [
                name,
                f"{found[0]['parameters'] / 1e6:.2f}M",
                f"{statistics.mean(run['tokens'] for run in found) / 1e6:.1f}M",
                str(len(found)),
                spread([run["scores"]["bleu"] for run in found]),
                spread([run["scores"]["chrf"] for run in found]),
                f"{speed['tokens_per_second']:,.0f}",
                f"{speed['sentences_per_second']:,.0f}",
                *(spread([run["by_length"][group] for run in found]) for group in groups),
            ]
        )
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([*lines, "", f"Signature: `{first['signature']}`. After ±: half of what lies between the seeds."])


def words(group: str) -> str:
    low, _, high = group.partition("-")
    return f"{low}+ words" if high == "999" else f"to {high} words" if low == "0" else f"{low}–{high} words"


def spread(values: Sequence[float]) -> str:
    mean = f"{statistics.mean(values):.1f}"
    return mean if len(values) == 1 else f"{mean} ± {(max(values) - min(values)) / 2:.1f}"


if __name__ == "__main__":
    main()
