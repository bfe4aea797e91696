"""Training steps on a CPU: ours beside the same model in `transformers` and in torch.nn, on the same sentences.

    REGARD_DATA=... python benchmarks/training_cpu.py [--rounds 7]

3+3 layers, d_model 256 (the preset `small`), Multi30k English to German, a joint vocabulary of 8,000, dropout, label
smoothing, Adam; batches of about 8,192 target tokens, which is the preset's size, and of 2,048. Ours packs rows. The
peers pad batches of similar length: of every pool of 100 batches, sorted by the source's length. Rounds alternate;
medians of real target tokens a second.
"""

import argparse
import gzip
import os
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import cycle
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import MarianConfig, MarianMTModel

from regard.batches.corpus import StoredCorpus, store
from regard.batches.loader import Loader, LoaderSettings
from regard.batches.rows import Batch, batch_of
from regard.models.transformer import Transformer, TransformerSettings
from regard.tokens import TokeniserSettings, train
from regard.training.distribution import Processes
from regard.training.optimisation import Optimisation
from regard.training.precision import Precision
from regard.training.settings import TrainingSettings

DATA = Path(os.environ.get("REGARD_DATA", Path(__file__).parents[2] / "shared" / "data"))
SMOOTHING, DROPOUT = 0.1, 0.1
Step = Callable[[], int]  # trains on one batch, and says how many target tokens it had


def lines(language: str) -> list[str]:
    with gzip.open(DATA / "multi30k" / f"train.{language}.gz", "rt", encoding="utf-8", newline="\n") as file:
        return [line.rstrip("\n") for line in file]


def padded_batches(corpus: StoredCorpus, size: int) -> list[Batch]:
    """One sentence a row: pools of 100 shuffled batches, sorted by the length of the source, as is usual."""
    draw = random.Random(0)  # noqa: S311
    order = list(range(len(corpus)))
    draw.shuffle(order)
    pool = 100 * size // int(corpus.target.lengths.mean())
    batches = []
    for first in range(0, len(order), pool):
        rows: list[list[tuple[list[int], list[int]]]] = []
        tokens = 0
        for number in sorted(order[first : first + pool], key=lambda n: int(corpus.source.lengths[n])):
            rows.append([(corpus.source.sentence(number), corpus.target.sentence(number))])
            tokens += int(corpus.target.lengths[number])
            if tokens >= size:
                batches.append(batch_of(rows, begin=0, end=1))
                rows, tokens = [], 0
    draw.shuffle(batches)
    return batches


def ours(corpus: StoredCorpus, vocabulary: int, size: int) -> Step:
    settings = TransformerSettings(
        source_vocabulary=vocabulary, target_vocabulary=vocabulary, encoder_layers=3, decoder_layers=3, d_model=256,
        d_ff=1024, heads=4, dropout=DROPOUT,
    )  # type: ignore[call-arg]  # fmt: skip
    optimisation = Optimisation(
        Transformer(settings), TrainingSettings(), device=torch.device("cpu"),
        precision=Precision("float32", None, ""), processes=Processes(), say=print,
    )  # fmt: skip
    stream = Loader(corpus, LoaderSettings(batch_tokens=size, row_lengths=(64, 128))).batches()
    numbers = iter(range(1, 10**9))

    def step() -> int:
        batch, _ = next(stream)
        optimisation.step(batch, number=next(numbers), rate=1e-4)
        return batch.tokens

    return step


class TorchTransformer(nn.Module):
    """torch.nn.Transformer as its documentation uses it, with the embeddings, positions and output that it lacks."""

    def __init__(self, vocabulary: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, 256)
        self.layers = nn.Transformer(256, 4, 3, 3, 1024, dropout=DROPOUT, batch_first=True)
        self.positions = nn.Parameter(torch.randn(512, 256) / 16)
        self.causal = nn.Transformer.generate_square_subsequent_mask(512) < 0

    def forward(self, batch: Batch) -> Tensor:
        length = batch.target.tokens.size(1)
        source, target = (
            self.embedding(side.tokens) * 16 + self.positions[: side.tokens.size(1)] for side in batch[:2]
        )
        no_source, no_target = (side.segments == 0 for side in batch[:2])
        states = self.layers(
            source, target, tgt_mask=self.causal[:length, :length], src_key_padding_mask=no_source,
            tgt_key_padding_mask=no_target, memory_key_padding_mask=no_source, tgt_is_causal=True,
        )  # fmt: skip
        return F.linear(states, self.embedding.weight)


def marian(vocabulary: int) -> nn.Module:
    config = MarianConfig(
        vocab_size=vocabulary, d_model=256, encoder_layers=3, decoder_layers=3, encoder_attention_heads=4,
        decoder_attention_heads=4, encoder_ffn_dim=1024, decoder_ffn_dim=1024, activation_function="relu",
        scale_embedding=True, dropout=DROPOUT, attention_dropout=0.0, activation_dropout=0.0, pad_token_id=0,
        eos_token_id=1, decoder_start_token_id=0, forced_eos_token_id=1,
    )  # fmt: skip
    return MarianMTModel(config)


def peer(model: nn.Module, logits: Callable[[Any, Batch], Tensor], batches: list[Batch]) -> Step:
    adam = torch.optim.Adam(model.parameters(), lr=1e-4, betas=(0.9, 0.98), eps=1e-9)
    stream: Iterator[Batch] = cycle(batches)
    model.train()

    def step() -> int:
        batch = next(stream)
        labels = batch.labels.masked_fill(batch.target.segments == 0, -100)
        F.cross_entropy(logits(model, batch).flatten(0, 1), labels.flatten(), label_smoothing=SMOOTHING).backward()
        adam.step()
        adam.zero_grad()
        return batch.tokens

    return step


def of_marian(model: Any, batch: Batch) -> Tensor:
    mask = (batch.source.segments != 0).long()
    result: Tensor = model(
        input_ids=batch.source.tokens, attention_mask=mask, decoder_input_ids=batch.target.tokens, use_cache=False
    ).logits
    return result


def measure(corpus: StoredCorpus, vocabulary: int, size: int, rounds: int) -> tuple[dict[str, list[float]], float]:
    """Target tokens a second of each program in each round, and how full the peers' batches are."""
    batches = padded_batches(corpus, size)
    programs: dict[str, Step] = {
        "Regard": ours(corpus, vocabulary, size),
        "transformers, Marian": peer(marian(vocabulary), of_marian, batches),
        "torch.nn.Transformer": peer(TorchTransformer(vocabulary), lambda model, batch: model(batch), batches),
    }
    speeds: dict[str, list[float]] = {name: [] for name in programs}
    for _ in range(rounds + 1):
        for name, step in programs.items():
            began = time.perf_counter()
            tokens = sum(step() for _ in range(8192 // size))
            speeds[name].append(tokens / (time.perf_counter() - began))
    filled = sum(batch.tokens for batch in batches) / sum(batch.labels.numel() for batch in batches)
    return {name: values[1:] for name, values in speeds.items()}, filled


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    torch.manual_seed(0)
    sources, targets = lines("en"), lines("de")
    tokenisers = train(sources, targets, TokeniserSettings(vocabulary=8_000))
    encoded = [tokenisers.source.encode_batch(side) for side in (sources, targets)]
    title = f"{torch.get_num_threads()} threads, medians of {options.rounds} rounds"
    table = Table("tokens a batch", "program", "target tokens/s", "ours is", title=title)
    with tempfile.TemporaryDirectory() as folder:
        corpus = store(Path(folder) / "corpus", list(zip(*encoded, strict=True)), begin=0, end=1, vocabulary=8_000)
        for size in (8192, 2048):
            speeds, filled = measure(corpus, tokenisers.source.size, size, options.rounds)
            medians = {name: statistics.median(values) for name, values in speeds.items()}
            for name, median in medians.items():
                table.add_row(f"{size:,}", name, f"{median:,.0f}", f"{medians['Regard'] / median:.2f} x")
            print(f"{size} tokens a batch; the peers' batches are {filled:.0%} full of target tokens")
            for name, values in speeds.items():
                print(" ", name, *(f"{value:,.0f}" for value in values))
    Console(width=90).print(table)


if __name__ == "__main__":
    main()
