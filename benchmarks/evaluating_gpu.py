"""`regard evaluate` on a GPU, from text to scores: sentences a second, and where the time goes.

    REGARD_DATA=... python benchmarks/evaluating_gpu.py [--model FOLDER] [--engine torch] [--times 10] [--rounds 2]

newstest2013, English to German, repeated ten times: 30,000 sentences, translated with a beam of 4 and scored with BLEU,
chrF, TER and perplexity by the function that the command calls. No two sentences are treated as one because they are
equal. Without --model, it is the paper's base model with random weights and a vocabulary of 37,000, from Europarl where
that is there. Such a model never ends a sentence, so the search ends it after as many tokens as the source has, and a
tenth more. The first round captures the steps, those that follow use them again. Without a GPU, use --device cpu,
--preset tiny and --lines 200 to try the script.
"""

import argparse
import gzip
import lzma
import os
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch

import regard
from regard import modelfolder, presets
from regard.evaluation import evaluate as evaluation
from regard.evaluation.comparison import ReferenceSet
from regard.metrics import score
from regard.models.transformer import Transformer, TransformerSettings
from regard.search import SearchSettings
from regard.text.pairs import Languages
from regard.tokens import TokeniserSettings, train
from regard.translation.engines import captured_board as captured
from regard.translation.translator import Translator

VOCABULARY = 37_000
ENDED = SearchSettings(max_length_factor=1.1, max_length_offset=2)  # for random weights


class Clock:
    """Seconds and calls of named phases."""

    def __init__(self) -> None:
        self.seconds: Counter[str] = Counter()
        self.calls: Counter[str] = Counter()

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        began = time.perf_counter()
        yield
        self.seconds[name] += time.perf_counter() - began  # type: ignore[assignment]
        self.calls[name] += 1

    def timed(self, name: str, work: Callable[..., Any]) -> Callable[..., Any]:
        def called(*arguments: Any, **named: Any) -> Any:
            with self.phase(name):
                return work(*arguments, **named)

        return called


def news(data: Path, *, times: int, lines: int | None) -> ReferenceSet:
    sides = []
    for language in ("en", "de"):
        with gzip.open(data / "newstest2013" / f"de-en.{language}.gz", "rt", encoding="utf-8") as file:
            sides.append(file.read().splitlines()[:lines] * times)
    sources, targets = sides
    return ReferenceSet(f"newstest2013, {times} times", [[text] for text in targets], sources, Languages("en", "de"))


def random_model(folder: Path, data: Path, held_out: ReferenceSet, *, preset: str) -> None:
    """A model folder with random weights and a tokeniser for real text."""
    pairs = [(source, target[0]) for source, target in zip(held_out.sources, held_out.references, strict=True)][:3000]
    europarl = data / "europarl" / "en-de.part0.tsv.xz"
    if europarl.exists() and preset != "tiny":
        with lzma.open(europarl, "rt", encoding="utf-8") as file:
            rows = (line.rstrip("\n").split("\t") for line in islice(file, 200_000))
            pairs += [(row[0], row[1]) for row in rows if len(row) == 2]
    english, german = zip(*pairs, strict=True)
    tokenisers = train(english, german, TokeniserSettings(vocabulary=VOCABULARY if preset != "tiny" else 4000))
    size = tokenisers.source.size
    table = presets.load(preset).model | {"source_vocabulary": size, "target_vocabulary": size}
    settings = TransformerSettings.read({key: table[key] for key in table if key != "architecture"}, where="benchmark")
    modelfolder.save(
        folder, Transformer(settings), architecture="transformer", settings=settings,
        languages={"source": "en", "target": "de"}, tokeniser=tokenisers.files(),
    )  # fmt: skip


def evaluated(translator: Translator, held_out: ReferenceSet, search: SearchSettings | None) -> None:
    """One evaluation, and what it took."""
    clock, engine = Clock(), translator.engine
    searching = "search_each" if hasattr(engine, "search_each") else "search"
    with (
        patch.object(engine, searching, clock.timed("search", getattr(engine, searching))),
        patch.object(evaluation, "score", clock.timed("metrics", score)),
        patch.object(translator, "score", clock.timed("perplexity", translator.score)),
        patch.object(captured, "captured", clock.timed("capturing", captured.captured)),
        clock.phase("all"),
    ):
        found = evaluation.evaluate(translator, held_out, search=search)
    lines, seconds = len(held_out.sources), clock.seconds
    host = found.speed.seconds - seconds["search"]
    print(
        f"  text to text {lines / found.speed.seconds:,.0f} sentences/s ({found.speed.seconds:.2f} s)"
        f" = search {seconds['search']:.2f} s (in it {clock.calls['capturing']} captures, {seconds['capturing']:.2f} s)"
        f" + host {host:.2f} s ({lines / max(host, 1e-9):,.0f} sentences/s)\n"
        f"  then side by side: metrics {seconds['metrics']:.2f} s, perplexity {seconds['perplexity']:.2f} s\n"
        f"  text to scores {lines / seconds['all']:,.0f} sentences/s ({seconds['all']:.2f} s);"
        f" {found.speed.tokens_per_second:,.0f} tokens/s, {found.lengths.ratio:.2f} times the references' length, "
        + ", ".join(f"{one.title} {one.value:.2f}" for one in found.scores),
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", type=Path, help="a model folder, English to German")
    parser.add_argument("--preset", default="base", help="of the model with random weights")
    parser.add_argument("--engine", default="torch", help="torch, torch-float32 ...; several with commas")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--products", default="highest", help="of float32: highest; high is TF32, medium is bf16")
    parser.add_argument("--times", type=int, default=10)
    parser.add_argument("--lines", type=int, help="only the first lines of newstest2013")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--random", action="store_true", help="the model of --model has random weights")
    options = parser.parse_args()
    if options.device == "cuda" and not torch.cuda.is_available():
        print("PyTorch sees no GPU here, so nothing is measured.")
        return
    torch.set_float32_matmul_precision(options.products)
    data = Path(os.environ["REGARD_DATA"])
    held_out = news(data, times=options.times, lines=options.lines)
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as work:
        folder = options.model or Path(work) / "model"
        if options.model is None:
            random_model(folder, data, held_out, preset=options.preset)
        for engine in options.engine.split(","):
            translator = regard.load(folder, device=options.device, engine=engine)
            sizes = f"{len(held_out.sources):,} sentences, {translator.tokenisers.target.size:,} pieces"
            print(f"{engine}, {options.products} precision, {sizes}", flush=True)
            for _ in range(options.rounds):
                evaluated(translator, held_out, ENDED if options.random or not options.model else None)
            del translator


if __name__ == "__main__":
    main()
