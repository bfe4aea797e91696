"""The measurements of docs/family.md: every recipe of the family by three seeds, and one table in Markdown.

    python recipes/family.py text --out OUT                 text to pre-train on: OUT/english.txt, OUT/en-yor.txt
    python recipes/family.py run NAME ... --out OUT [--seeds 3] [--steps N] [--device cuda] [--europarl 7]

NAME: shakespeare, ptb, chunks, trec, sst2, yoruba, or all. Data are in $REGARD_DATA. `trec` and `sst2` are trained
from scratch and from a masked model of OUT/english.txt, `yoruba` from scratch and from a model that restores
OUT/en-yor.txt. Neither text has a line of a test set. A run that is in OUT already is not repeated.
"""

import argparse
import gzip
import json
import lzma
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

RECIPES = Path(__file__).parent
NAMES = {
    "shakespeare": "shakespeare-characters",
    "ptb": "ptb-words",
    "chunks": "conll2000",
    "trec": "trec",
    "sst2": "sst2",
    "yoruba": "lafand-en-yor",
}
STARTS = {"trec": "masked-english", "sst2": "masked-english", "yoruba": "denoising-en-yor"}
TEXTS = {"masked-english": "english.txt", "denoising-en-yor": "en-yor.txt"}
FINE_TUNING = {
    "masked-english": ("training.peak_rate=0.0003", "model.dropout=0.2"),
    "denoising-en-yor": ("training.peak_rate=0.0005", "model.dropout=0.3"),
}
COPIES = 4  # of the small corpus's lines beside Europarl


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=("text", "run"))
    parser.add_argument("names", nargs="*", help=f"{', '.join(NAMES)} or all")
    parser.add_argument("--out", type=Path, required=True, help="the folder for texts, models and results")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--steps", type=int, help="of every run, to try it out")
    parser.add_argument("--europarl", type=int, default=7, help="how many of its seven parts to pre-train on")
    parser.add_argument("--device")
    return parser.parse_args()


def data() -> Path:
    return Path(os.environ.get("REGARD_DATA", "../shared/data"))


def lines(name: str) -> Iterator[list[str]]:
    """The columns of each line of a file of $REGARD_DATA."""
    opened = lzma.open if name.endswith(".xz") else gzip.open
    with opened(data() / name, "rt", encoding="utf-8") as file:
        for line in file:
            yield line.rstrip("\n").split("\t")


def english(parts: int) -> Iterator[str]:
    """English sentences: the training texts of the small tasks, everyday sentences and speeches."""
    for name in ("classes/sst2.train.tsv.gz", "classes/trec.train.tsv.gz", "classes/subj.tsv.gz"):
        yield from (cells[0] for cells in lines(name))
    yield from (cells[0] for cells in lines("tags/conll2000.train.tsv.gz"))
    yield from dict.fromkeys(cells[0] for cells in lines("tatoeba/en-de.train.tsv.gz"))
    for part in range(parts):
        yield from (cells[0] for cells in lines(f"europarl/en-de.part{part}.tsv.xz"))


def yoruba(parts: int) -> Iterator[str]:
    """Both sides of the training pairs, several times, and English speeches."""
    pairs = list(lines("lafand/en-yor.train.tsv.gz"))
    for _ in range(COPIES):
        yield from (side for cells in pairs for side in cells[:2])
    for part in range(parts):
        yield from (cells[0] for cells in lines(f"europarl/en-de.part{part}.tsv.xz"))


def write_texts(out: Path, parts: int) -> None:
    """Both texts, without the lines of any test set."""
    out.mkdir(parents=True, exist_ok=True)
    tests = ("classes/sst2.test.tsv.gz", "classes/sst2.dev.tsv.gz", "classes/trec.test.tsv.gz",
             "tags/conll2000.test.tsv.gz", "lafand/en-yor.test.tsv.gz", "lafand/en-yor.dev.tsv.gz")  # fmt: skip
    held_out = {cell for name in tests for cells in lines(name) for cell in cells[:2]}
    for name, found in (("english.txt", english(parts)), ("en-yor.txt", yoruba(min(parts, 2)))):
        with (out / name).open("w", encoding="utf-8") as file:
            file.writelines(f"{text}\n" for text in found if text and text not in held_out)


def train(arguments: argparse.Namespace, folder: Path, *more: str) -> None:
    """`regard train`, unless the model is there."""
    if (folder / "regard.json").exists():
        return
    steps = ["--steps", str(arguments.steps)] if arguments.steps else []
    device = ["--device", arguments.device] if arguments.device else []
    command = [sys.executable, "-m", "regard", "train", *more, "--out", str(folder), *steps, *device]
    resume = ["--resume"] if (folder / "training" / "checkpoints").exists() else []
    subprocess.run([*command, *resume], check=True, env=os.environ)


def started(arguments: argparse.Namespace, recipe: str) -> Path:
    """The model that others start from."""
    text, folder = arguments.out / TEXTS[recipe], arguments.out / recipe
    if not text.exists():
        write_texts(arguments.out, arguments.europarl)
    train(arguments, folder, str(text), "--recipe", str(RECIPES / f"{recipe}.toml"))
    return folder


def score(folder: Path) -> tuple[str, float]:
    """The first score of the test set; of a model without one, the lowest validation loss."""
    test = folder / "test.json"
    if not test.exists():
        found = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
        return "validation loss", min(event["loss"] for event in found if event["event"] == "validated")
    scores = json.loads(test.read_text())["scores"]
    if isinstance(scores, list):
        return scores[0]["metric"], scores[0]["value"]
    return next(iter(scores.items()))


def run(arguments: argparse.Namespace) -> None:
    names = list(NAMES) if arguments.names in ([], ["all"]) else arguments.names
    rows = []
    for name in names:
        recipe = ["--recipe", str(RECIPES / f"{NAMES[name]}.toml")]
        starts = [None, *([STARTS[name]] if name in STARTS else [])]
        for start in starts:
            more = ["--from", str(started(arguments, start))] if start else []
            more += [part for setting in FINE_TUNING.get(start or "", ()) for part in ("--set", setting)]
            scores = []
            for seed in range(1, arguments.seeds + 1):
                folder = arguments.out / f"{name}{f'-from-{start}' if start else ''}-{seed}"
                train(arguments, folder, *recipe, *more, "--seed", str(seed))
                metric, value = score(folder)
                scores.append(value)
            spread = statistics.stdev(scores) if len(scores) > 1 else 0.0
            rows.append((name, start or "scratch", metric, statistics.mean(scores), spread, scores))
    table = ["| measurement | from | score | mean | deviation | seeds |", "| --- | --- | --- | --- | --- | --- |"]
    table += [
        f"| {name} | {start} | {metric} | {mean:.4f} | {spread:.4f} | {', '.join(f'{each:.4f}' for each in scores)} |"
        for name, start, metric, mean, spread, scores in rows
    ]
    text = "\n".join(table) + "\n"
    (arguments.out / "results.md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    given = options()
    if given.command == "text":
        write_texts(given.out, given.europarl)
    else:
        given.out.mkdir(parents=True, exist_ok=True)
        run(given)
