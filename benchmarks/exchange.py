"""One model in several programs: whether all sentences come out the same, how large its files are, how fast they run.

    REGARD_DATA=... python benchmarks/exchange.py [--model en-de] [--sentences 1000] [--rounds 1]

Exports the model for each program, translates Multi30k's test set of 2016 by greedy search in float32 with one thread,
from text to text in batches of 32 sentences of similar length, and compares with Regard's own translations. Then it
imports the Hugging Face folder again and compares the weights bit by bit.
"""

from __future__ import annotations

import argparse
import gzip
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import torch

import regard
from regard import modelfolder
from regard.exchange import ctranslate2, export, exporters, huggingface
from regard.exchange.importing import opened
from regard.search import SearchSettings
from regard.tokens import Tokenisers

BATCH = 32
LONGEST = 200  # tokens of a translation
EXPORTS = (
    ("huggingface", "float32"),
    ("huggingface", "float16"),
    ("onnx", "float32"),
    ("onnx", "int8"),
    ("ctranslate2", "float32"),
    ("ctranslate2", "int8"),
    ("argos", "int8"),
    ("regard", "float32"),
    ("regard", "float16"),
    ("regard", "int8"),
)

Translate = Callable[[Sequence[str]], list[str]]


def in_batches(translate: Translate, texts: Sequence[str]) -> list[str]:
    order = sorted(range(len(texts)), key=lambda n: len(texts[n]))
    found = [""] * len(texts)
    for first in range(0, len(order), BATCH):
        numbers = order[first : first + BATCH]
        for n, text in zip(numbers, translate([texts[n] for n in numbers]), strict=True):
            found[n] = text
    return found


def in_regard(model: str) -> Translate:
    translator = regard.load(model, engine="torch", device="cpu")
    search = SearchSettings(method="greedy", repetition_cycle=0)
    return lambda texts: [found.text for found in translator.translate(list(texts), search=search)]


def in_transformers(folder: Path) -> Translate:
    tokenizer, model = huggingface.opened(folder)

    def translate(texts: Sequence[str]) -> list[str]:
        batch = tokenizer(list(texts), return_tensors="pt", padding=True)
        with torch.no_grad():
            found = model.generate(**batch, num_beams=1, do_sample=False)
        decoded: list[str] = tokenizer.batch_decode(found, skip_special_tokens=True)
        return decoded

    return translate


def in_ctranslate2(folder: Path, model: str) -> Translate:
    tokenisers = Tokenisers.from_files(modelfolder.read_tokeniser(model))
    names = ctranslate2.tokens(tokenisers.source)
    numbers = {name: token for token, name in enumerate(ctranslate2.tokens(tokenisers.target))}
    translator = ctranslate2.library().Translator(str(folder), device="cpu", intra_threads=1)

    def translate(texts: Sequence[str]) -> list[str]:
        sources = [[names[token] for token in tokenisers.source.encode(text)] for text in texts]
        found = translator.translate_batch(sources, beam_size=1, max_decoding_length=LONGEST)
        return [tokenisers.target.decode([numbers[token] for token in one.hypotheses[0]]) for one in found]

    return translate


def size(path: Path) -> float:
    files = [path] if path.is_file() else [each for each in path.rglob("*") if each.is_file()]
    return sum(each.stat().st_size for each in files) / 1e6


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--model", default="en-de")
    arguments.add_argument("--sentences", type=int, default=1000)
    arguments.add_argument("--rounds", type=int, default=1)
    options = arguments.parse_args()
    torch.set_num_threads(1)
    data = Path(os.environ["REGARD_DATA"]) / "multi30k" / "test_2016_flickr.en.gz"
    texts = gzip.decompress(data.read_bytes()).decode().splitlines()[: options.sentences]
    with tempfile.TemporaryDirectory() as temporary:
        folders = {}
        for name, kind in EXPORTS:
            if name not in exporters():
                continue
            folder = folders[name, kind] = Path(temporary) / f"{name}-{kind}{'.argosmodel' if name == 'argos' else ''}"
            verdict = export(options.model, folder, to=name, quantization=kind)
            print(f"{name} {kind}: {size(folder):.1f} MB. {verdict.sentence()}", flush=True)
        compare(options.model, folders, texts, options.rounds)
        round_trip(options.model, folders["huggingface", "float32"])


def compare(model: str, folders: dict[tuple[str, str], Path], texts: Sequence[str], rounds: int) -> None:
    programs: dict[str, Translate] = {
        "Regard (torch)": in_regard(model),
        "transformers": in_transformers(folders["huggingface", "float32"]),
        "CTranslate2": in_ctranslate2(folders["ctranslate2", "float32"], model),
        "CTranslate2 int8": in_ctranslate2(folders["ctranslate2", "int8"], model),
    }
    seconds: dict[str, list[float]] = {name: [] for name in programs}
    found: dict[str, list[str]] = {}
    for _ in range(rounds):
        for name, translate in programs.items():
            started = time.perf_counter()
            found[name] = in_batches(translate, texts)
            seconds[name].append(time.perf_counter() - started)
    expected = found["Regard (torch)"]
    for name, answers in found.items():
        equal = sum(one == other for one, other in zip(answers, expected, strict=True))
        speed = len(texts) / statistics.median(seconds[name])
        print(f"{name}: {equal} of {len(texts)} translations are Regard's; {speed:.1f} sentences/s", flush=True)


def round_trip(model: str, folder: Path) -> None:
    ours, again = modelfolder.load(model).model.state_dict(), opened(folder).model.state_dict()
    equal = sum(torch.equal(ours[name], again[name]) for name in ours)
    print(f"imported again: {equal} of {len(ours)} tensors are the same, bit for bit")


if __name__ == "__main__":
    main()
