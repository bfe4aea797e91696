"""The table of every head's effect on the loss: all heads in the same batches, beside a run for every head.

    python benchmarks/knockout.py [--sentences 64]

A random model of 3+3 layers, d_model 256, 4 heads (36 heads, so 37 variants), on the CPU. Both give the same losses.
"""

import argparse
import time

import torch
from rich.console import Console
from rich.table import Table

from regard.insight.knockout import losses
from regard.insight.sample import Sample
from regard.models.parts.observation import heads_of, without
from regard.models.transformer import Transformer, TransformerSettings
from regard.tasks.translation import batch_of
from regard.text.pairs import Pair
from regard.tokens import TokeniserSettings, train

SIZE = {"encoder_layers": 3, "decoder_layers": 3, "d_model": 256, "d_ff": 1024, "heads": 4}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--sentences", type=int, default=64)
    count = parser.parse_args().sentences
    torch.manual_seed(0)
    pairs = [Pair("a short line here"[: 6 + n % 12], "noch eine kurze Zeile"[: 6 + n % 15]) for n in range(count)]
    tokenisers = train(["a"], ["b"], TokeniserSettings(kind="utf8"))
    sample = Sample.of(pairs, tokenisers, sentences=count)
    model = Transformer(TransformerSettings(source_vocabulary=259, target_vocabulary=259, **SIZE)).eval()  # type: ignore[arg-type]
    variants = [(), *((head,) for head in heads_of(model))]

    def one_by_one() -> list[float]:
        found = []
        for variant in variants:
            total = tokens = 0.0
            with torch.no_grad(), without(model, variant):
                for pair in zip(sample.source_ids, sample.target_ids, strict=True):
                    batch = batch_of([[pair]], begin=0, end=1)
                    logprobs = model(batch).log_softmax(dim=-1)
                    total -= float(logprobs.gather(-1, batch.labels[:, :, None]).sum())
                    tokens += batch.tokens
            found.append(total / tokens)
        return found

    table = Table("way", "seconds", title=f"{len(variants)} variants, {count} sentences")
    results = []
    for name, way in (
        ("all heads in the same batches", lambda: losses(model, sample, variants, device=torch.device("cpu"))),
        ("a run for every head and sentence", one_by_one),
    ):
        began = time.perf_counter()
        results.append(torch.tensor(way()))
        table.add_row(name, f"{time.perf_counter() - began:.1f}")
    Console(width=100).print(table)
    print(f"largest difference of a loss: {(results[0] - results[1]).abs().max():.1e}")


if __name__ == "__main__":
    main()
