"""Preparation against bare SentencePiece: a million sentence pairs read, cleaned, tokenised and stored.

    REGARD_DATA=... python benchmarks/preparation.py [--pairs 1000000] [--rounds 5] [--more-pairs 4000000]

The pairs are Tatoeba's, repeated with changes. The peer encodes the same sentences, already in memory, by
SentencePiece's own batch call with as many threads as we have processes, as it is, and without Python's search for
reference cycles, which we do without; rounds alternate. Memory is the sum over all processes.
"""

import argparse
import gc
import gzip
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from itertools import count, islice
from pathlib import Path

from rich.console import Console
from rich.table import Table
from sentencepiece import SentencePieceProcessor

from regard.batches.preparation import Source, prepare
from regard.tokens import Tokenisers, TokeniserSettings, train

DATA = Path(os.environ.get("REGARD_DATA", Path(__file__).parents[2] / "shared" / "data"))
WORKERS = os.cpu_count() or 1

Run = tuple[float, int, int, int]  # seconds, pairs, tokens, peak of memory
Round = tuple[Run, float, float]


def tatoeba() -> list[tuple[str, str]]:
    with gzip.open(DATA / "tatoeba" / "en-de.train.tsv.gz", "rt", encoding="utf-8", newline="\n") as file:
        return [(source, target) for source, target in (line.rstrip("\n").split("\t") for line in file)]


def changed(pairs: list[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """The pairs again and again, each time with other numbers in them."""
    for again in count():
        for number, (source, target) in enumerate(pairs):
            mark = f" {again * 7 + number % 7}" if again else ""
            yield source + mark, target + mark


def write(path: Path, pairs: int, texts: list[tuple[str, str]]) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(f"{source}\t{target}\n" for source, target in islice(changed(texts), pairs))


def tokenisers_in(folder: Path, texts: list[tuple[str, str]]) -> Tokenisers:
    sources, targets = zip(*texts[::4], strict=True)
    tokenisers = train(sources, targets, TokeniserSettings(vocabulary=16_000))
    for name, content in tokenisers.files().items():
        (folder / name).write_bytes(content)
    return tokenisers


def prepare_once(folder: Path, data: Path) -> None:
    """A child process: prepares the corpus again and prints how long it took."""
    files = {path.name: path.read_bytes() for path in folder.glob("tokeniser.*")}
    tokenisers = Tokenisers.from_files(files)
    with tempfile.TemporaryDirectory(dir=folder) as store:
        began = time.perf_counter()
        corpus = prepare(Source(data=(str(data),), source="en", target="de"), tokenisers, Path(store))
        print(
            time.perf_counter() - began,
            len(corpus),
            int(corpus.streams["source"].lengths.sum() + corpus.streams["target"].lengths.sum()),
        )


def memory_of(process: int) -> int:
    """Bytes in use by a process and all of its children; shared pages are divided among them."""
    total = 0
    try:
        for line in Path(f"/proc/{process}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss_Anon:"):
                total += 1024 * int(line.split()[1])
        children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
        total += sum(memory_of(int(child)) for child in children)
    except (FileNotFoundError, ProcessLookupError):
        pass
    return total


def ours(folder: Path, data: Path) -> Run:
    arguments = [sys.executable, __file__, "--child", str(folder), str(data)]
    child = subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True)
    peak = 0

    def watch() -> None:
        nonlocal peak
        while child.poll() is None:
            peak = max(peak, memory_of(child.pid))
            time.sleep(0.2)

    watcher = threading.Thread(target=watch)
    watcher.start()
    said, _ = child.communicate()
    watcher.join()
    seconds, pairs, tokens = said.split()
    return float(seconds), int(pairs), int(tokens), peak


def bare(processor: SentencePieceProcessor, data: Path, *, cycles: bool) -> float:
    """Seconds of SentencePiece's own batch encoding of both sides, with or without the search for cycles."""
    cells = [line.split("\t") for line in data.read_text(encoding="utf-8").split("\n") if line]
    sources, targets = [cell[0] for cell in cells], [cell[1] for cell in cells]
    if not cycles:
        gc.disable()
    began = time.perf_counter()
    for texts in (sources, targets):
        processor.encode(texts, out_type=int, num_threads=WORKERS)
    seconds = time.perf_counter() - began
    gc.enable()
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--pairs", type=int, default=1_000_000)
    parser.add_argument("--more-pairs", type=int, default=4_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--child", nargs=2, type=Path)
    options = parser.parse_args()
    if options.child:
        prepare_once(*options.child)
        return
    with tempfile.TemporaryDirectory() as name:
        folder, texts = Path(name), tatoeba()
        tokenisers = tokenisers_in(folder, texts)
        processor = SentencePieceProcessor(model_proto=tokenisers.source.files()["spm"])
        data = folder / "pairs.tsv"
        write(data, options.pairs, texts)
        rounds = [
            (ours(folder, data), bare(processor, data, cycles=True), bare(processor, data, cycles=False))
            for _ in range(options.rounds)
        ]
        mine = statistics.median(run[0] for run, _, _ in rounds)
        peers = statistics.median(peer for _, peer, _ in rounds), statistics.median(peer for _, _, peer in rounds)
        more = folder / "more.tsv"
        write(more, options.more_pairs, texts)
        large = ours(folder, more)
    report(options, rounds, mine, peers, large)


def report(
    options: argparse.Namespace, rounds: list[Round], mine: float, peers: tuple[float, float], large: Run
) -> None:
    table = Table("program", "pairs", "seconds", "sentences/s", "ours is", "peak MiB", title=f"{WORKERS} cores")
    for name, seconds in zip(("SentencePiece", "SentencePiece, no search for cycles"), peers, strict=True):
        speed = f"{2 * options.pairs / seconds:,.0f}"
        table.add_row(name, f"{options.pairs:,}", f"{seconds:.2f}", speed, f"{seconds / mine:.0%}", "")
    peak = max(run[3] for run, _, _ in rounds)
    for seconds, pairs, memory in ((mine, options.pairs, peak), (large[0], options.more_pairs, large[3])):
        speed = f"{2 * pairs / seconds:,.0f}"
        table.add_row("Regard", f"{pairs:,}", f"{seconds:.2f}", speed, "", f"{memory / 2**20:,.0f}")
    Console(width=110).print(table)
    print("rounds (ours, SentencePiece, without cycles):", *(f"({a[0]:.2f}, {b:.2f}, {c:.2f})" for a, b, c in rounds))


if __name__ == "__main__":
    main()
