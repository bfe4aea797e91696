"""Training steps on a CPU: ours beside the same model in `transformers` and in torch.nn, on the same sentences.

    REGARD_DATA=... python benchmarks/training_cpu.py [--rounds 7] [--sizes 2048,8192] [--precisions float32,bf16]

3+3 layers, d_model 256 (the preset `small`), Multi30k English to German, a joint vocabulary of 8,000, dropout, label
smoothing, Adam; batches of about 2,048 target tokens, and of 8,192, which is the preset's size. Every program runs in a
process of its own, ours as `regard train` does; rounds alternate; medians of real target tokens a second.

Ours packs rows. The peers pad batches of similar length, of every pool of 100 batches: once sorted by the length of the
source, then of the target, as is usual, once by the longer side, which is the best that padding can do. They are the
models of `training_parts`: torch.nn.Transformer as PyTorch's tutorial uses it; the same called in the way that suits it
best; and so once more with only the dropout that ours and Marian have, none within attention and feed-forward networks.
All compute in float32. Where products in bf16 work here and are faster, there is a second contest, in which all compute
in bf16: ours by `training.precision="bf16"`, the peers by PyTorch's autocast; ours in float32 stands beside them.
After each contest comes what no program can do without: the matrix products of a step and nothing else, once for each
real token; `--without-peers` measures only that. `--kept-memory` also lets the peers keep freed memory, as `regard
train` does; a plain loop does not.
"""

import argparse
import gzip
import os
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import cycle, product
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table

from regard.batches.corpus import StoredCorpus, store
from regard.batches.loader import Loader, LoaderSettings
from regard.batches.rows import Batch
from regard.models.transformer import ARCHITECTURE, Transformer, TransformerSettings
from regard.tasks.translation import TASK, batch_of
from regard.tokens import TokeniserSettings, train
from regard.training.distribution import Processes
from regard.training.machine.memory import keep_freed_memory
from regard.training.machine.precision import Precision
from regard.training.machine.probes import bf16_beside_float32
from regard.training.optimisation import Optimisation
from regard.training.training_settings import TrainingSettings
from training_parts import products
from training_parts.peers import Make, Marian, Peer, TorchTransformer, TutorialTransformer, WithLoss
from training_parts.scale import DROPOUT

DATA = Path(os.environ.get("REGARD_DATA", Path(__file__).parents[2] / "shared" / "data"))
SETTINGS = TransformerSettings(
    source_vocabulary=8_000, target_vocabulary=8_000, encoder_layers=3, decoder_layers=3, d_model=256, d_ff=1024,
    heads=4, dropout=DROPOUT,
)  # type: ignore[call-arg]  # fmt: skip
LONGEST = 512  # tokens of a sentence
ORDERS: dict[str, Callable[[int, int], tuple[int, int]]] = {
    "source": lambda source, target: (source, target),
    "longer": lambda source, target: (max(source, target), target),
}
PEERS: dict[str, Make] = {
    "Marian": Marian,
    "torch.nn as in its tutorial": TutorialTransformer,
    "torch.nn": partial(TorchTransformer, as_it_comes=True),
    "torch.nn with less dropout": TorchTransformer,
}
PRODUCTS = "its matrix products alone"
PROGRAMS = ("Regard", *(f"{peer}, {order}" for peer in PEERS for order in ORDERS))
BF16 = " in bf16"
CONTESTS = {  # of which each is run by itself: all programs of one are in memory at once
    "float32": (PROGRAMS, ("Regard", PRODUCTS)),
    "bf16": ((*(f"{program}{BF16}" for program in PROGRAMS), "Regard"), (f"Regard{BF16}", f"{PRODUCTS}{BF16}")),
}
WARM_UP, ROUND = 24_576, 8_192  # target tokens: at first, memory is new and products are made ready for each shape
Step = Callable[[], int]  # trains on one batch, and says how many target tokens it had


def lines(language: str) -> list[str]:
    with gzip.open(DATA / "multi30k" / f"train.{language}.gz", "rt", encoding="utf-8", newline="\n") as file:
        return [line.rstrip("\n") for line in file]


def padded_batches(corpus: StoredCorpus, size: int, *, order: str) -> list[Batch]:
    """One sentence a row: pools of 100 shuffled batches, sorted by the lengths of both sides."""

    def length(number: int) -> tuple[int, int]:
        return ORDERS[order](*(int(stream.lengths[number]) for stream in corpus.streams.values()))

    draw = random.Random(0)  # noqa: S311
    numbers = list(range(len(corpus)))
    draw.shuffle(numbers)
    pool = 100 * size // int(corpus.streams["target"].lengths.mean())
    batches = []
    for first in range(0, len(numbers), pool):
        rows: list[list[tuple[list[int], list[int]]]] = []
        tokens = 0
        for number in sorted(numbers[first : first + pool], key=length):
            rows.append([(corpus.streams["source"].sentence(number), corpus.streams["target"].sentence(number))])
            tokens += int(corpus.streams["target"].lengths[number])
            if tokens >= size:
                batches.append(batch_of(rows, begin=0, end=1))
                rows, tokens = [], 0
    draw.shuffle(batches)
    return batches


def packed_batches(corpus: StoredCorpus, size: int) -> Iterator[Batch]:
    """As ours trains on them."""
    return (
        batch for batch, _ in Loader(corpus, LoaderSettings(batch_tokens=size, row_lengths=(64, 128)), TASK).batches()
    )


def ours(corpus: StoredCorpus, size: int, precision: Precision) -> Step:
    optimisation = Optimisation(
        Transformer(SETTINGS), TrainingSettings(), device=torch.device("cpu"),
        precision=precision, processes=Processes(), say=print, kind=ARCHITECTURE,
    )  # fmt: skip
    stream, numbers = packed_batches(corpus, size), iter(range(1, 10**9))

    def step() -> int:
        batch = next(stream)
        optimisation.step(batch, number=next(numbers), rate=1e-4)
        return batch.tokens

    return step


def peer(model: Peer, batches: list[Batch], precision: Precision) -> Step:
    loss = WithLoss(model).train()
    adam = torch.optim.Adam(loss.parameters(), lr=1e-4, betas=(0.9, 0.98), eps=1e-9)
    stream: Iterator[Batch] = cycle(batches)

    def step() -> int:
        batch = next(stream)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=precision.name == "bf16"):
            mean = loss(batch)
        mean.backward()
        adam.step()
        adam.zero_grad()
        return batch.tokens

    return step


def filled(batches: list[Batch]) -> str:
    """How full the batches are of real tokens, on both sides."""
    source = sum(int((batch.streams["source"].segments != 0).sum()) for batch in batches)
    target = sum(batch.tokens for batch in batches)
    sides = zip(*((batch.streams["source"].tokens, batch.labels) for batch in batches), strict=True)
    places = [sum(tensor.numel() for tensor in side) for side in sides]
    return f"{source / places[0]:.0%} full of source tokens and {target / places[1]:.0%} of target tokens"


def work(program: str, folder: str, size: int, kept_memory: bool, answers: Connection) -> None:
    """A program's process: on each request, it trains on about the requested number of tokens."""
    torch.manual_seed(0)
    torch.set_num_threads(os.cpu_count() or 1)
    if program.startswith("Regard") or kept_memory:
        keep_freed_memory()
    corpus = StoredCorpus(Path(folder))
    program, rounded, _ = program.partition(BF16)
    precision = Precision("bf16", torch.bfloat16, "") if rounded else Precision("float32", None, "")
    if program == "Regard":
        step = ours(corpus, size, precision)
    elif program == PRODUCTS:
        step = products.step_of(Transformer(SETTINGS), packed_batches(corpus, size), precision.dtype or torch.float32)
    else:
        name, _, order = program.partition(", ")
        batches = padded_batches(corpus, size, order=order)
        print(f"{size} tokens a batch, {program}: batches are {filled(batches)}", flush=True)
        step = peer(PEERS[name](SETTINGS, LONGEST), batches, precision)
    while asked := answers.recv():
        began = time.perf_counter()
        tokens = sum(step() for _ in range(max(1, asked // size)))
        answers.send(tokens / (time.perf_counter() - began))


def measure(
    programs: Sequence[str], folder: str, size: int, rounds: int, *, kept_memory: bool
) -> dict[str, list[float]]:
    """Target tokens a second of each program in each round; the first round is for warming up."""
    context = get_context("spawn")
    ends, processes = {}, []
    for program in programs:
        ends[program], other = context.Pipe()
        processes.append(context.Process(target=work, args=(program, folder, size, kept_memory, other), daemon=True))
        processes[-1].start()
    speeds: dict[str, list[float]] = {program: [] for program in programs}
    for tokens in (WARM_UP, *[ROUND] * rounds):
        for program, end in ends.items():
            end.send(tokens)
            speeds[program].append(end.recv())
        print(f"{size} tokens a batch:", *(f"{name} {values[-1]:,.0f};" for name, values in speeds.items()), flush=True)
    for end in ends.values():
        end.send(0)
    for process in processes:
        process.join()  # and its memory is free for the next ones
    return {program: values[1:] for program, values in speeds.items()}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--sizes", default="2048,8192")
    parser.add_argument("--precisions", default="float32,bf16")
    parser.add_argument("--kept-memory", action="store_true")
    parser.add_argument("--without-peers", action="store_true")
    options = parser.parse_args()
    sources, targets = lines("en"), lines("de")
    tokenisers = train(sources, targets, TokeniserSettings(vocabulary=8_000))
    encoded = [tokenisers.source.encode_batch(side) for side in (sources, targets)]
    bf16 = bf16_beside_float32()
    print(f"products in bf16: {f'{bf16.told} times as fast as in float32' if bf16.works else bf16.trouble}")
    asked = [
        name for name in options.precisions.split(",") if name == "float32" or (bf16.works and float(bf16.told) > 1)
    ]
    title = f"{os.cpu_count()} cores, medians of {options.rounds} rounds"
    table = Table("tokens a batch", "program, sorted by", "target tokens/s", "the first one is", title=title)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "corpus"
        store(folder, dict(zip(("source", "target"), encoded, strict=True)), begin=0, end=1, vocabulary=8_000)
        contests = [programs for name in asked for programs in CONTESTS[name][int(options.without_peers) :]]
        for size, programs in product(map(int, options.sizes.split(",")), contests):
            speeds = measure(programs, str(folder), size, options.rounds, kept_memory=options.kept_memory)
            medians = {name: statistics.median(values) for name, values in speeds.items()}
            for name, median in medians.items():
                table.add_row(f"{size:,}", name, f"{median:,.0f}", f"{next(iter(medians.values())) / median:.2f} x")
            table.add_section()
    Console(width=90).print(table)


if __name__ == "__main__":
    main()
