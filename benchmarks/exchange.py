"""One model in several programs: whether all sentences come out the same, how large its files are, how fast they run.

    REGARD_DATA=... python benchmarks/exchange.py [--model en-de] [--sentences 1000] [--rounds 1] [--beam | --logits]

Exports the model for each program, translates Multi30k's test set of 2016 by greedy search in float32 with one thread,
from text to text in batches of 32 sentences of similar length, and compares with Regard's own translations. Then it
imports the Hugging Face folder again and compares the weights bit by bit. `--beam` compares a beam of 4 in Regard and
in `transformers` instead: without length penalty, and with the defaults of both. `--logits` compares their logits for
the references.
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
from typing import Any

import torch

import regard
from regard import modelfolder
from regard.exchange import ctranslate2_runtime, export, exporters, hub_files, huggingface
from regard.exchange.importing import opened
from regard.search import SearchSettings
from regard.tasks.translation import batch_of
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


def in_regard(model: str, **options: Any) -> Translate:
    translator = regard.load(model, engine="torch", device="cpu")
    search = SearchSettings(**({"method": "greedy", "repetition_cycle": 0} | options))
    return lambda texts: [found.text for found in translator.translate(list(texts), search=search)]


def in_transformers(folder: Path, **options: Any) -> Translate:
    tokenizer, model = huggingface.opened(folder)

    def translate(texts: Sequence[str]) -> list[str]:
        batch = tokenizer(list(texts), return_tensors="pt", padding=True)
        with torch.no_grad():
            found = model.generate(**batch, **({"num_beams": 1} | options))
        decoded: list[str] = tokenizer.batch_decode(found, skip_special_tokens=True)
        return decoded

    return translate


def in_ctranslate2(folder: Path, model: str) -> Translate:
    tokenisers = Tokenisers.from_files(modelfolder.read_tokeniser(model))
    names = ctranslate2_runtime.tokens(tokenisers.source)
    numbers = {name: token for token, name in enumerate(ctranslate2_runtime.tokens(tokenisers.target))}
    translator = ctranslate2_runtime.library().Translator(str(folder), device="cpu", intra_threads=1)

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
    arguments.add_argument("--beam", action="store_true")
    arguments.add_argument("--logits", action="store_true")
    options = arguments.parse_args()
    torch.set_num_threads(1)
    data = Path(os.environ["REGARD_DATA"]) / "multi30k" / "test_2016_flickr.en.gz"
    texts = gzip.decompress(data.read_bytes()).decode().splitlines()[: options.sentences]
    with tempfile.TemporaryDirectory() as temporary:
        if options.beam:
            compare_beams(options.model, Path(temporary) / "huggingface", texts)
            return
        if options.logits:
            references = data.with_name("test_2016_flickr.de.gz").read_bytes()
            compare_logits(options.model, Path(temporary), texts, gzip.decompress(references).decode().splitlines())
            return
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


def compare_beams(model: str, folder: Path, texts: Sequence[str]) -> None:
    export(model, folder, to="huggingface")
    for what, ours, theirs in (
        ("no length penalty", {"length_penalty": 0.0}, {"length_penalty": 0.0}),
        ("the defaults of both", {}, {}),
    ):
        expected = in_batches(in_regard(model, method="beam", **ours), texts)
        found = in_batches(in_transformers(folder, num_beams=4, **theirs), texts)
        equal = sum(one == other for one, other in zip(found, expected, strict=True))
        print(f"beam 4, {what}: {equal} of {len(texts)} translations are Regard's", flush=True)


def compare_logits(model: str, temporary: Path, sources: Sequence[str], targets: Sequence[str]) -> None:
    export(model, temporary / "huggingface", to="huggingface")
    loaded, (_, theirs) = modelfolder.load(model), huggingface.opened(temporary / "huggingface")
    tokenisers, ours = Tokenisers.from_files(loaded.tokeniser), loaded.model
    ids = list(hub_files.padding_last(tokenisers).target)
    numbers = {token: number for number, token in enumerate(ids)}
    begin, end = tokenisers.target.begin, tokenisers.target.end
    for dtype in (torch.float32, torch.float64):
        ours, theirs = ours.to(dtype), theirs.to(dtype)
        largest, over, count = 0.0, 0, 0
        for source, target in zip(sources, targets, strict=False):
            pair = (tokenisers.source.encode(source), tokenisers.target.encode(target))
            read, said = ([numbers[token] for token in side] for side in pair)
            with torch.no_grad():
                one = ours(batch_of([[pair]], begin=begin, end=end))[0][:, ids]
                given = torch.tensor([[*read, numbers[end]]]), torch.tensor([[numbers[begin], *said]])
                other = theirs(input_ids=given[0], decoder_input_ids=given[1]).logits[0]
            apart = (one - other)[:, :-1].abs()  # the last one is the padding token, which is never generated
            largest, over, count = (
                max(largest, float(apart.max())),
                over + int((apart > 1e-5).sum()),
                count + apart.numel(),
            )
        print(f"{dtype}: the largest difference is {largest:.1e}; {over} of {count:,} are above 1e-5", flush=True)


def round_trip(model: str, folder: Path) -> None:
    ours, again = modelfolder.load(model).model.state_dict(), opened(folder).model.state_dict()
    equal = sum(torch.equal(ours[name], again[name]) for name in ours)
    print(f"imported again: {equal} of {len(ours)} tensors are the same, bit for bit")


if __name__ == "__main__":
    main()
