"""How fast one process makes batches, how full their rows are, and how long it takes to go on in the middle.

    python benchmarks/loading.py [--pairs 500000] [--seconds 10]

Lengths are like those of WMT's sentences: a log-normal with a mean of 28 tokens, targets of about the same length.
The last batches hold the sentences of training_gpu.py, of which none has more than 100 tokens.
A GPU that trains the base model at 930,000 target tokens a second takes 1.9 million tokens of both sides.
"""

import argparse
import tempfile
import time
from itertools import islice
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from regard.batches.corpus import CorpusWriter, StoredCorpus
from regard.batches.loader import Loader, LoaderSettings, Place
from regard.tasks.translation import TASK
from training_parts import corpora
from training_parts.scale import FULL

VOCABULARY = 37_000


def corpus(folder: Path, pairs: int) -> StoredCorpus:
    """Random ids in sentences of random lengths."""
    draw = np.random.default_rng(0)
    spread = 0.6
    sources = draw.lognormal(np.log(28) - spread**2 / 2, spread, pairs)
    targets = sources * draw.lognormal(0, 0.2, pairs)
    writer = CorpusWriter(folder, vocabulary=VOCABULARY)
    for side, lengths in (("source", sources), ("target", targets)):
        counts = np.clip(np.rint(lengths), 2, 256).astype(np.int32)
        writer.add(side, draw.integers(2, VOCABULARY, int(counts.sum()), dtype=np.uint32), counts)
    writer.finish({"begin": 0, "end": 1})
    return StoredCorpus(folder)


def measure(stored: StoredCorpus, settings: LoaderSettings, seconds: float) -> tuple[float, float, int, float, float]:
    """Tokens a second, share of row slots filled, batches, milliseconds to the first batch and to go on far away."""
    loader = Loader(stored, settings, TASK)
    began = time.perf_counter()
    batches = loader.batches()
    next(batches)
    first = time.perf_counter() - began
    tokens = slots = count = 0
    began = time.perf_counter()
    for batch, _ in batches:
        tokens += int((batch.streams["source"].segments != 0).sum()) + int(
            (batch.streams["target"].segments != 0).sum()
        )
        slots += 2 * batch.streams["source"].tokens.numel()
        count += 1
        if time.perf_counter() - began > seconds:
            break
    speed = tokens / (time.perf_counter() - began)
    began = time.perf_counter()
    next(Loader(stored, settings, TASK).batches(Place(epoch=1_000_000 // 600, pool=loader.pools // 2, batch=3)))
    return speed, tokens / slots, count, 1000 * first, 1000 * (time.perf_counter() - began)


def ahead(stored: StoredCorpus, settings: LoaderSettings, batches: int = 200) -> float:
    """Tokens a second that reach this thread from one that makes batches ahead."""
    stream = Loader(stored, settings, TASK).prefetched()
    next(stream)
    tokens = 0
    began = time.perf_counter()
    for batch, _ in islice(stream, batches):
        tokens += int((batch.streams["source"].segments != 0).sum()) + int(
            (batch.streams["target"].segments != 0).sum()
        )
    return tokens / (time.perf_counter() - began)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--pairs", type=int, default=500_000)
    parser.add_argument("--seconds", type=float, default=10)
    options = parser.parse_args()
    table = Table(
        "batches", "tokens/s", "from another thread", "rows filled", "first batch", "going on at step 1,000,000"
    )
    with tempfile.TemporaryDirectory() as name:
        mixed = corpus(Path(name) / "corpus", options.pairs)
        short = corpora.stored(Path(name) / "short", FULL._replace(pairs=options.pairs))
        for stored, tokens, lengths in (
            (mixed, 24_576, (128, 256)),
            (mixed, 24_576, (64, 128, 256)),
            (mixed, 8_192, (128, 256)),
            (short, FULL.batch_tokens, (128,)),
        ):
            settings = LoaderSettings(batch_tokens=tokens, row_lengths=lengths)
            speed, filled, _, first, going_on = measure(stored, settings, options.seconds)
            shapes = ", ".join(f"{tokens // length} x {length}" for length in lengths)
            there = ahead(stored, settings)
            table.add_row(
                shapes, f"{speed:,.0f}", f"{there:,.0f}", f"{filled:.1%}", f"{first:.0f} ms", f"{going_on:.0f} ms"
            )
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
