"""ONNX exports beside Regard and CTranslate2: how many greedy translations are equal, BLEU, sizes and speeds.

    REGARD_DATA=... python benchmarks/onnx_files.py [--model en-de] [--sentences 1000] [--rounds 3] [--threads 1]
        [--node-modules FOLDER]

The sentences are the first of Multi30k's test set of 2016. Equality is counted against Regard's own engine, in float32,
without its guard against repetition, which a plain search lacks.
Speeds are for greedy search, in sentences a second of processor time, which other programs on the machine disturb less:
"one by one" from the first 100 sentences, "in batches" from all.
The rows of onnxruntime are a plain loop in Python (`regard.exchange.onnx.runtime`) from text to text, as Regard's
are. Rounds alternate; medians. With --node-modules, transformers.js translates the first 100 sentences, too:
npm install --ignore-scripts @huggingface/transformers
"""

import argparse
import gzip
import json
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import sacrebleu
import torch
from rich.console import Console
from rich.table import Table

import regard
from regard import modelfolder
from regard.batches.similar_lengths import by_length
from regard.exchange import export
from regard.exchange.onnx.runtime import Files
from regard.search import SearchSettings
from regard.tokens import Tokenisers

ROOT = Path(__file__).parents[1]
DATA = Path(os.environ.get("REGARD_DATA", ROOT.parent / "shared" / "data"))
FEW, BATCH_TOKENS = 100, 1024
GREEDY = SearchSettings(method="greedy", repetition_cycle=0)
Program = Callable[[list[str], bool], list[str]]  # texts, and whether one by one -> translations


def multi30k(language: str) -> list[str]:
    path = DATA / "multi30k" / f"test_2016_flickr.{language}.gz"
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as file:
        return [line.rstrip("\n") for line in file]


def ours(model: str, engine: str) -> Program:
    translator = regard.load(model, engine=engine, device="cpu")

    def program(texts: list[str], one_by_one: bool) -> list[str]:
        groups = [[text] for text in texts] if one_by_one else [texts]
        return [found.text for group in groups for found in translator.translate(group, search=GREEDY)]

    return program


def exported(folder: Path, tokenisers: Tokenisers, threads: int, **options: Any) -> Program:
    """A plain greedy search with onnxruntime; limits are Regard's."""
    files = Files(folder / "onnx", threads=threads, **options)

    def program(texts: list[str], one_by_one: bool) -> list[str]:
        sources = [[*tokenisers.source.encode(text), tokenisers.source.end] for text in texts]
        found = [""] * len(texts)
        for numbers in by_length([len(source) for source in sources], tokens=1 if one_by_one else BATCH_TOKENS):
            limits = [len(sources[n]) + 49 for n in numbers]
            begin, end = tokenisers.target.begin, tokenisers.target.end
            answers = files.greedy([sources[n] for n in numbers], begin=begin, end=end, limits=limits)
            for n, ids in zip(numbers, answers, strict=True):
                found[n] = tokenisers.target.decode(ids)
        return found

    return program


def in_node(node_modules: str, folder: Path, dtype: str, texts: list[str]) -> dict[str, Any]:
    command = ["node", str(ROOT / "tests/transformers_js.mjs"), node_modules, str(folder), dtype]
    told = subprocess.run(command, input="\n".join(texts), capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(told.stdout)
    return found


def bleu(found: list[str], references: list[str]) -> str:
    return f"{sacrebleu.corpus_bleu(found, [references]).score:.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="en-de")
    parser.add_argument("--sentences", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--node-modules")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    texts = multi30k("en")[: options.sentences]
    references = multi30k("de")[: options.sentences]
    tokenisers = Tokenisers.from_files(modelfolder.read_tokeniser(options.model))
    with tempfile.TemporaryDirectory() as work:
        folders = {kind: Path(work) / kind for kind in ("float32", "int8")}
        for kind, folder in folders.items():
            print(kind, export(options.model, folder, to="onnx", quantization=kind).sentence())
            for path in sorted((folder / "onnx").iterdir()):
                print(f"  {path.name}: {path.stat().st_size / 1e6:.1f} MB")
        programs = {
            "Regard, torch": ours(options.model, "torch"),
            "Regard, ctranslate2 float32": ours(options.model, "ctranslate2-float32"),
            "Regard, ctranslate2 int8": ours(options.model, "ctranslate2"),
            "onnxruntime, merged": exported(folders["float32"], tokenisers, options.threads),
            "onnxruntime, two files": exported(folders["float32"], tokenisers, options.threads, merged=False),
            "onnxruntime, merged int8": exported(folders["int8"], tokenisers, options.threads, suffix="_quantized"),
        }
        compare(programs, texts, references, options.rounds)
        if options.node_modules:
            expected = programs["Regard, torch"](texts[:FEW], False)
            for kind, dtype in (("float32", "fp32"), ("int8", "q8")):
                found = in_node(options.node_modules, folders[kind], dtype, texts[:FEW])
                equal = sum(one == other for one, other in zip(found["found"], expected, strict=True))
                print(f"transformers.js {dtype}: {equal} of {FEW} equal, {FEW / found['seconds']:.1f} sentences/s")


def compare(programs: dict[str, Program], texts: list[str], references: list[str], rounds: int) -> None:
    found = {name: program(texts, False) for name, program in programs.items()}
    alone = {name: program(texts, True) for name, program in programs.items() if "merged" in name}
    times: dict[str, dict[bool, list[float]]] = {name: {True: [], False: []} for name in programs}
    for _ in range(rounds):
        for one_by_one in (True, False):
            chosen = texts[:FEW] if one_by_one else texts
            for name, program in programs.items():
                began = time.process_time()
                program(chosen, one_by_one)
                times[name][one_by_one].append(len(chosen) / (time.process_time() - began))
    table = Table("program", "equal in batches", "equal one by one", "BLEU", "one by one /s", "in batches /s")
    expected = found["Regard, torch"]
    for name in programs:
        equal = [
            str(sum(one == other for one, other in zip(answers[name], expected, strict=True)))
            if name in answers
            else ""
            for answers in (found, alone)
        ]
        speeds = [f"{statistics.median(times[name][kind]):.1f}" if rounds else "" for kind in (True, False)]
        table.add_row(name, *equal, bleu(found[name], references), *speeds)
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
