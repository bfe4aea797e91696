"""What observing attention costs, and that it costs nothing without an observer; and rows against padding.

    python benchmarks/attention.py [--rounds 7]

One forward and backward pass of 3+3 layers, d_model 256, on the CPU; medians of alternating rounds.
torch.nn.Transformer of the same size runs beside ours on the padded batch.
"""

import argparse
import random
import statistics
import time
from collections.abc import Callable

import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor, nn
from torch.nn import functional as F

from regard.batches.rows import Batch
from regard.models.fast import fast_form
from regard.models.parts.observation import watch
from regard.models.transformer import Transformer, TransformerSettings
from regard.tasks.translation import batch_of

VOCABULARY, SENTENCES, ROW = 8_000, 128, 64
SIZE = {"encoder_layers": 3, "decoder_layers": 3, "d_model": 256, "d_ff": 1024, "heads": 4, "dropout": 0.1}

Pair = tuple[list[int], list[int]]


def pairs() -> list[Pair]:
    """Lengths like those of captions: about 13 tokens, some much longer."""
    draw = random.Random(0)  # noqa: S311
    lengths = [(max(3, int(draw.gauss(13, 5))), max(3, int(draw.gauss(13, 5)))) for _ in range(SENTENCES)]
    return [tuple([draw.randrange(2, VOCABULARY) for _ in range(n)] for n in both) for both in lengths]  # type: ignore[misc]


def first_fit(sentences: list[Pair]) -> list[list[Pair]]:
    """Rows of whole pairs, longest first, each into the first row where both of its sides fit."""
    rows: list[list[Pair]] = []
    filled: list[list[int]] = []
    for pair in sorted(sentences, key=lambda pair: -max(map(len, pair))):
        sizes = [len(side) + 1 for side in pair]
        place = next(
            (r for r, used in enumerate(filled) if all(u + s <= ROW for u, s in zip(used, sizes, strict=True))), None
        )
        if place is None:
            place = len(rows)
            rows.append([])
            filled.append([0, 0])
        rows[place].append(pair)
        filled[place] = [u + s for u, s in zip(filled[place], sizes, strict=True)]
    return rows


class TorchTransformer(nn.Module):
    """torch.nn.Transformer as its documentation uses it, with the embeddings and the output that it lacks."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, 256)
        self.layers = nn.Transformer(256, 4, 3, 3, 1024, dropout=0.1, batch_first=True)
        self.causal = nn.Transformer.generate_square_subsequent_mask(256)

    def forward(self, batch: Batch) -> Tensor:
        length = batch.streams["target"].tokens.size(1)
        source, target = self.embedding(batch.streams["source"].tokens), self.embedding(batch.streams["target"].tokens)
        no_source, no_target = (side.segments == 0 for side in (batch.streams["source"], batch.streams["target"]))
        states = self.layers(
            source, target, tgt_mask=self.causal[:length, :length] < 0, src_key_padding_mask=no_source,
            tgt_key_padding_mask=no_target, memory_key_padding_mask=no_source, tgt_is_causal=True,
        )  # fmt: skip
        return F.linear(states, self.embedding.weight)


def step(model: nn.Module, batch: Batch) -> None:
    real = batch.streams["target"].segments != 0
    F.cross_entropy(model(batch)[real], batch.labels[real]).backward()
    model.zero_grad()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parser.parse_args().rounds
    torch.manual_seed(0)
    sentences = pairs()
    padded = batch_of([[pair] for pair in sentences], begin=0, end=1)
    packed = batch_of(first_fit(sentences), begin=0, end=1, length=ROW)
    ours = Transformer(TransformerSettings(source_vocabulary=VOCABULARY, target_vocabulary=VOCABULARY, **SIZE))  # type: ignore[arg-type]
    ours = fast_form(ours, "training")
    theirs = TorchTransformer()

    def watched() -> None:
        with watch(ours):
            step(ours, packed)

    programs: dict[str, Callable[[], None]] = {
        "ours, rows": lambda: step(ours, packed),
        "ours, rows, after an observation": lambda: step(ours, packed),
        "ours, rows, watched": watched,
        "ours, one sentence a row": lambda: step(ours, padded),
        "torch.nn.Transformer, padded": lambda: step(theirs, padded),
    }
    spent: dict[str, list[float]] = {name: [] for name in programs}
    for _ in range(rounds + 1):
        for name, program in programs.items():
            began = time.perf_counter()
            program()
            spent[name].append(time.perf_counter() - began)
    tokens = int((padded.streams["target"].segments != 0).sum())
    table = Table(
        "program",
        "ms a step",
        "target tokens/s",
        "slots filled",
        title=f"{SENTENCES} pairs, medians of {rounds} rounds",
    )
    for name, times in spent.items():
        median = statistics.median(times[1:])
        batch = padded if "one sentence" in name or "padded" in name else packed
        filled = (batch.streams["target"].segments != 0).float().mean().item()
        table.add_row(name, f"{1000 * median:.0f}", f"{tokens / median:,.0f}", f"{filled:.0%}")
    Console(width=100).print(table)


if __name__ == "__main__":
    main()
