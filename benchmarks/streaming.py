"""Memory over many lines: `translator.stream` over a million of them, with a very small model.

    python benchmarks/streaming.py [--lines 1000000] [--engine auto] [--checks]

The lines are made up as they are read, a few words each, some long, some blank, some with placeholders. Memory that
the process uses is taken ten times; after the first tenth it is to stay where it is. The model has no languages, so
its translations are checked only with `--checks`.
"""

import argparse
import random
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import regard
from regard import modelfolder
from regard.models.transformer import Transformer, TransformerSettings
from regard.search import SearchSettings
from regard.tokens import TokeniserSettings, train

WORDS = [f"{first}{second}" for first in "bdfgklmnprst" for second in ("a", "el", "im", "on", "u")]


def lines(count: int) -> Iterator[str]:
    draw = random.Random(0)  # noqa: S311
    for _ in range(count):
        length = draw.choice((0, 2, 3, 4, 5, 6, 8, 60)) if draw.random() < 0.1 else draw.randint(2, 6)
        words = draw.choices(WORDS, k=length)
        if words and draw.random() < 0.0005:
            words[0] = "{name}"
        yield " ".join(words)


def small_model(folder: Path) -> None:
    text = [" ".join(random.Random(n).choices(WORDS, k=5)) for n in range(2000)]  # noqa: S311
    tokenisers = train(text, text, TokeniserSettings(vocabulary=340))
    size = tokenisers.source.size
    table = {
        "source_vocabulary": size, "target_vocabulary": size, "d_model": 32, "d_ff": 64, "heads": 2,
        "encoder_layers": 1, "decoder_layers": 1,
    }  # fmt: skip
    settings = TransformerSettings.read(table, where="benchmark")
    modelfolder.save(
        folder, Transformer(settings), architecture="transformer", settings=settings, tokeniser=tokenisers.files()
    )


def memory() -> float:
    """In MiB, as the kernel counts it."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 2**20


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--engine", default="auto")
    parser.add_argument("--checks", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        small_model(Path(work) / "model")
        translator = regard.load(Path(work) / "model", device="cpu", engine=options.engine)
        search = SearchSettings(beam_size=1, max_length=4)
        began, seen, blank = time.perf_counter(), 0, 0
        for found in translator.stream(lines(options.lines), search=search, window=8192, checks=options.checks):
            seen += 1
            blank += not found.source
            assert bool(found.source) or not found.text
            if seen % max(1, options.lines // 10) == 0:
                speed = seen / (time.perf_counter() - began)
                print(f"{seen:>9,} lines  {memory():7.0f} MiB  {speed:,.0f} lines/s", flush=True)
        assert seen == options.lines
        print(f"{translator.engine.name}: {seen:,} lines in, {seen:,} out, {blank:,} blank ones stayed blank")


if __name__ == "__main__":
    main()
