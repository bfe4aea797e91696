"""The server under load: alone, beside the bare engine, and beside the real LibreTranslate with the same model.

    python benchmarks/serving.py alone --texts FILE [--model en-de] [--engine ctranslate2]
        latency and sentences/s with 1, 8, 64 and 256 clients, and what is lost between the bare engine and HTTP, in
        alternating rounds
    python benchmarks/serving.py beside --texts FILE --libretranslate VENV/bin/python [--engine ctranslate2]
        arrays of 40, and 32 clients with single sentences, in alternating rounds
    python benchmarks/serving.py arrays --texts FILE --model FOLDER --device cuda
    python benchmarks/serving.py arrays --model random-base --device cuda
        sentences/s in arrays of 32, of a model or of the paper's base model with random weights, whose translations
        have 24 words (translating_parts/counting.py)
    python benchmarks/serving.py company --texts FILE
        how many translations of CTranslate2 depend on the other sentences of a window

Sentences are lines of a file; the load generator runs on the same machine. LibreTranslate takes its settings from the
environment: ARGOS_INTER_THREADS=2 ARGOS_INTRA_THREADS=1 lets it search two sentences at a time, one on each core.
"""

from __future__ import annotations

import argparse
import math
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

from serving_parts.bare import Bare
from serving_parts.company import compare_company
from serving_parts.libretranslate_peer import start_libretranslate
from serving_parts.load import Load, Measured, free_port, wait_for
from translating_parts.counting import random_model

_CLIENTS = (1, 8, 64, 256)
_ARRAY, _SINGLE_CLIENTS = 40, 32


def main() -> None:
    options = _options()
    if options.model == "random-base":
        with tempfile.TemporaryDirectory() as folder:
            texts = random_model(Path(folder))[: options.sentences]
            options.model, options.source, options.target = folder, "xx", "yy"
            _measure(options, texts)
    else:
        _measure(options, _texts(options))


def _measure(options: argparse.Namespace, texts: list[str]) -> None:
    if options.what == "beside":
        _beside(options, texts)
    elif options.what == "arrays":
        _arrays(options, texts)
    elif options.what == "company":
        compare_company(options.model, texts)
    else:
        _alone(options, texts)


def _alone(options: argparse.Namespace, texts: list[str]) -> None:
    bare = None if options.device == "cuda" else Bare(options.model, options.engine, texts)
    with _Regard(options, [options.model]) as (port, process):
        load = Load(port, texts, source=options.source, target=options.target, size=1, process=process)
        for clients in options.clients or _CLIENTS:
            load.run(clients=min(clients, 8), seconds=2)
            lost = []
            for _ in range(options.rounds):
                alone = bare.rate(options.seconds) if bare else math.nan
                found = load.run(clients=clients, seconds=options.seconds)
                lost.append(100 * (1 - found.rate / alone))
                print(f"{clients:4d} clients: {found}; the bare engine {alone:.1f}, {lost[-1]:.0f}% lost", flush=True)
            print(
                f"{clients:4d} clients: {median(lost):.0f}% lost to HTTP, the median of {len(lost)} rounds", flush=True
            )
    if bare:
        bare.close()


def _arrays(options: argparse.Namespace, texts: list[str]) -> None:
    with _Regard(options, [options.model]) as (port, process):
        load = Load(port, texts, source=options.source, target=options.target, size=options.size, process=process)
        for clients in options.clients or (1, 16, 64):
            load.run(clients=clients, seconds=3)
            print(
                f"{clients:4d} clients, arrays of {options.size}: {load.run(clients=clients, seconds=options.seconds)}"
            )


def _beside(options: argparse.Namespace, texts: list[str]) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(options.folder or place)
        port = free_port()
        peer = start_libretranslate(options.libretranslate, ["en-de", "de-en"], folder, port)
        try:
            wait_for(port, seconds=120)
            with _Regard(options, ["en-de", "de-en"]) as own:
                _rounds(options, texts, {"LibreTranslate": (port, peer.pid), "Regard": own})
        finally:
            peer.terminate()
            peer.wait()


def _rounds(options: argparse.Namespace, texts: list[str], ports: dict[str, tuple[int, int]]) -> None:
    for clients, size in ((1, _ARRAY), (_SINGLE_CLIENTS, 1)):
        found: dict[str, list[Measured]] = {name: [] for name in ports}
        for turn in range(options.rounds + 1):
            for name, (port, process) in ports.items():
                load = Load(port, texts, source="en", target="de", size=size, process=process)
                measured = load.run(clients=clients, seconds=3 if turn == 0 else options.seconds)
                if turn:
                    found[name].append(measured)
                    print(f"{clients} clients, arrays of {size}, round {turn}, {name}: {measured}", flush=True)
        rates = {name: median(one.rate for one in some) for name, some in found.items()}
        slowest = {name: median(one.percentile(95) for one in some) for name, some in found.items()}
        times = rates["Regard"] / rates["LibreTranslate"]
        print(f"{clients} clients, arrays of {size}: {times:.1f} times the sentences/s; p95 {slowest}", flush=True)


class _Regard:
    """The server as a process."""

    def __init__(self, options: argparse.Namespace, models: list[str]) -> None:
        self._port = free_port()
        command = [sys.executable, "-m", "regard", "serve", *models, "--port", str(self._port)]
        command += ["--engine", options.engine, "--max-requests", "1024"]
        self._command = [*command, "--device", options.device] if options.device else command

    def __enter__(self) -> tuple[int, int]:
        self._log = tempfile.TemporaryFile()
        self._process = subprocess.Popen(self._command, stderr=self._log)
        wait_for(self._port, seconds=180)
        return self._port, self._process.pid

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait()


def _texts(options: argparse.Namespace) -> list[str]:
    lines = options.texts.read_text(encoding="utf-8").splitlines()
    chosen = [line.strip() for line in lines if 3 <= len(line.split()) <= 40]
    random.Random(1).shuffle(chosen)  # noqa: S311
    return chosen[: options.sentences]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["alone", "beside", "arrays", "company"])
    parser.add_argument("--texts", type=Path, help="sentences, one a line")
    parser.add_argument("--sentences", type=int, default=2000)
    parser.add_argument("--model", default="en-de")
    parser.add_argument("--source", default="en")
    parser.add_argument("--target", default="de")
    parser.add_argument("--engine", default="auto")
    parser.add_argument("--device")
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--size", type=int, default=32, help="texts of an array")
    parser.add_argument("--clients", type=int, action="append")
    parser.add_argument("--libretranslate", type=Path, help="the Python of an environment with LibreTranslate")
    parser.add_argument("--folder", type=Path, help="where its packages are kept")
    options = parser.parse_args()
    if options.texts is None and options.model != "random-base":
        parser.error("--texts: a file with sentences is needed for this model")
    return options


if __name__ == "__main__":
    main()
