"""Memory over many lines: `translator.stream` over a million of them, with a very small model. And what checks cost.

    python benchmarks/streaming.py [--lines 1000000] [--engine auto]
    python benchmarks/streaming.py --model en-de [--lines 4000] [--rounds 3]

The lines are made up as they are read, a few words each, some long, some blank, some with placeholders. Memory that
the process uses is taken ten times; after the first tenth it is to stay where it is. The model has no languages and
random weights, so its translations are not checked.

With a model that translates from English, the lines are made-up English sentences, and the model translates them with
checks and without, in alternating rounds; medians.
"""

import argparse
import random
import statistics
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


ADJECTIVES = ("old", "small", "friendly", "red", "tired", "famous", "quiet", "strange", "young", "happy")
NOUNS = ("dog", "teacher", "house", "train", "friend", "city", "computer", "garden", "doctor", "river", "car", "child")
VERBS = ("sees", "likes", "knows", "finds", "wants", "remembers", "buys", "needs", "looks for", "talks about")
ENDS = (".", " today.", " at 5 o'clock.", " every Monday.", ", but nobody believes it.", " for 20 euros.", "!")


def english(count: int) -> list[str]:
    """Made-up sentences; every two hundredth has a placeholder."""
    draw = random.Random(0)  # noqa: S311
    found = []
    for number in range(count):
        who, what = (f"the {draw.choice(ADJECTIVES)} {draw.choice(NOUNS)}" for _ in range(2))
        who = who if number % 200 else "{name}"
        found.append(f"{who[0].upper()}{who[1:]} {draw.choice(VERBS)} {what}{draw.choice(ENDS)}")
    return found


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


def cost_of_checks(model: str, engine: str, *, count: int, rounds: int) -> None:
    """Prints the lines a second with checks and without, after a round that does not count."""
    translator = regard.load(model, device="cpu", engine=engine)
    texts = english(count)
    speeds: dict[bool, list[float]] = {True: [], False: []}
    for number in range(rounds + 1):
        for checks, found in speeds.items():
            began = time.perf_counter()
            assert sum(1 for _ in translator.stream(texts, checks=checks)) == count
            if number:
                found.append(count / (time.perf_counter() - began))
    checked, unchecked = (statistics.median(found) for found in speeds.values())
    print(f"{model}, {translator.engine.name}, {count:,} lines, medians of {rounds} rounds")
    print(f"{unchecked:,.1f} lines/s without checks, {checked:,.1f} with them: {1 - checked / unchecked:.1%} less")


def memory_over_time(engine: str, *, count: int) -> None:
    """Translates with a very small model, and prints what memory it takes."""
    with tempfile.TemporaryDirectory() as work:
        small_model(Path(work) / "model")
        translator = regard.load(Path(work) / "model", device="cpu", engine=engine)
        search = SearchSettings(beam_size=1, max_length=4)
        began, seen, blank = time.perf_counter(), 0, 0
        for found in translator.stream(lines(count), search=search, window=8192):
            seen += 1
            blank += not found.source
            assert bool(found.source) or not found.text
            if seen % max(1, count // 10) == 0:
                speed = seen / (time.perf_counter() - began)
                print(f"{seen:>9,} lines  {memory():7.0f} MiB  {speed:,.0f} lines/s", flush=True)
        assert seen == count
        print(f"{translator.engine.name}: {seen:,} lines in, {seen:,} out, {blank:,} blank ones stayed blank")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--lines", type=int)
    parser.add_argument("--engine", default="auto")
    parser.add_argument("--model", help="measure what checks cost with this model")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    if options.model:
        cost_of_checks(options.model, options.engine, count=options.lines or 4_000, rounds=options.rounds)
    else:
        memory_over_time(options.engine, count=options.lines or 1_000_000)


if __name__ == "__main__":
    main()
