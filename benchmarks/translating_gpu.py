"""Translating on a GPU: our torch engine beside `transformers`, and whether it keeps its promises there.

    python benchmarks/translating_gpu.py [--rounds 3] [--without-peers] [--greedy]

The paper's base model with a vocabulary of 37,000 and random weights, sources of 20 to 30 tokens, beam 4, 32 new tokens
each, bf16, from ids to ids; with --greedy, greedy search. First, on a small model: that float32 finds on the GPU what
it finds on a processor, and that a sentence gets the same numbers, bit for bit, shuffled among others and alone. Then
sentences a second by how many hypotheses are searched together, what a step takes and where its time goes;
`transformers` by the size of its batch. Rounds alternate; medians.
"""

import argparse
import random
import statistics
import time
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import torch
from rich.console import Console
from rich.table import Table
from torch.profiler import ProfilerActivity, profile
from transformers import MarianConfig, MarianMTModel

from regard.models.fast import fast_form
from regard.models.transformer import Transformer, TransformerSettings
from regard.search import SearchSettings
from regard.translation.engines.torch import TorchEngine, rounded

VOCABULARY, WORDS, BEAM = 37_000, 32, 4
GPU = torch.device("cuda")


class Side:
    """As much of a tokeniser as an engine needs."""

    begin, end = 0, 1


class Sides:
    """Both of them."""

    source = target = Side()


def model(vocabulary: int, **sizes: int) -> Transformer:
    table = {"source_vocabulary": vocabulary, "target_vocabulary": vocabulary, **sizes}
    return Transformer(TransformerSettings.read(table, where="benchmark")).eval()


def engine(
    translating: Transformer, *, device: torch.device = GPU, precision: torch.dtype = torch.float32, **options: Any
) -> TorchEngine:
    quick = rounded(fast_form(translating, "decoding"), precision)
    return TorchEngine(quick, Sides(), device=device, precision=precision, **options)  # type: ignore[arg-type]


def promises() -> None:
    """Prints how many of some sentences come out as they should."""
    draw = random.Random(0)  # noqa: S311
    small = model(500, d_model=64, d_ff=128, heads=4, encoder_layers=2, decoder_layers=2)
    sentences = [[draw.randrange(2, 500) for _ in range(draw.randint(1, 60))] for _ in range(300)]
    settings = SearchSettings(max_length_offset=20)
    expected = engine(small, device=torch.device("cpu")).search(sentences, settings)
    there = deepcopy(small).to(GPU)
    for precision in (torch.float32, torch.bfloat16):
        searching = engine(there, precision=precision)
        found = [result.hypotheses[0] for result in searching.search(sentences, settings)]
        order = draw.sample(range(300), 300)
        shuffled = searching.search([sentences[n] for n in order], settings)
        same = sum(found[n] == shuffled[i].hypotheses[0] for i, n in enumerate(order))
        alone = sum(searching.search([sentences[n]], settings)[0].hypotheses[0] == found[n] for n in range(20))
        line = f"{precision}: {same} of 300 the same bits when shuffled, {alone} of 20 alone"
        if precision == torch.float32:
            equal = sum(one.ids == other.hypotheses[0].ids for one, other in zip(found, expected, strict=True))
            line += f", {equal} of 300 as on a processor"
        print(line, flush=True)


def ours(translating: Transformer, rows: int, *, greedy: bool) -> tuple[Callable[[], int], TorchEngine]:
    draw = random.Random(1)  # noqa: S311
    sentences = [[draw.randrange(2, VOCABULARY) for _ in range(draw.randint(20, 30))] for _ in range(2 * rows)]
    way = SearchSettings(method="greedy") if greedy else SearchSettings(beam_size=BEAM)
    settings = way.model_copy(update={"min_length": WORDS, "max_length": WORDS})
    searching = engine(translating, precision=torch.bfloat16, gpu_rows=rows)

    def run() -> int:
        found = searching.search(sentences, settings)
        assert all(len(result.hypotheses[0].ids) == WORDS for result in found)
        return len(sentences)

    return run, searching


def generating(batch: int, *, greedy: bool) -> Callable[[], int]:
    config = MarianConfig(
        vocab_size=VOCABULARY, d_model=512, encoder_layers=6, decoder_layers=6, encoder_attention_heads=8,
        decoder_attention_heads=8, encoder_ffn_dim=2048, decoder_ffn_dim=2048, activation_function="relu",
        scale_embedding=True, pad_token_id=0, eos_token_id=1, decoder_start_token_id=0, forced_eos_token_id=None,
    )  # fmt: skip
    theirs: Any = MarianMTModel(config).eval().to(GPU).bfloat16()
    ids = torch.randint(2, VOCABULARY, (batch, 28), device=GPU)

    def run() -> int:
        with torch.no_grad():
            theirs.generate(
                input_ids=ids, num_beams=1 if greedy else BEAM, max_new_tokens=WORDS, min_new_tokens=WORDS,
                do_sample=False,
            )  # fmt: skip
        return batch

    return run


def step_of(searching: TorchEngine) -> None:
    """Prints what a captured step takes, kernel by kernel."""
    (bench,) = searching.benches.values()
    bench.board.move(bench.search)
    torch.cuda.synchronize()
    began = time.perf_counter()
    for _ in range(20):
        bench.board.move(bench.search)
    torch.cuda.synchronize()
    print(f"a captured step of {bench.places * bench.search.width} rows: {50 * (time.perf_counter() - began):.2f} ms")
    with profile(activities=[ProfilerActivity.CUDA]) as seen:
        bench.board.move(bench.search)
        torch.cuda.synchronize()
    kernels = sorted(seen.key_averages(), key=lambda kernel: -kernel.self_device_time_total)
    for kernel in kernels[:12]:
        print(f"  {kernel.self_device_time_total / 1000:.3f} ms  {kernel.count} x  {kernel.key[:80]}")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--without-peers", action="store_true")
    parser.add_argument("--greedy", action="store_true", help="greedy search instead of a beam")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        print("PyTorch sees no GPU here, so nothing is measured.")
        return
    torch.manual_seed(0)
    promises()
    base = model(VOCABULARY).to(GPU)
    sizes = () if options.without_peers else (256, 1024, 2048)
    programs = {f"transformers, generate, batches of {size}": generating(size, greedy=options.greedy) for size in sizes}
    engines = {}
    for rows in (2048, 4096, 8192):
        programs[f"Regard, {rows} rows"], engines[rows] = ours(base, rows, greedy=options.greedy)
    speeds: dict[str, list[float]] = {name: [] for name in programs}
    for number in range(options.rounds + 1):
        for name, program in programs.items():
            torch.cuda.synchronize()
            began = time.perf_counter()
            count = program()
            torch.cuda.synchronize()
            if number:
                speeds[name].append(count / (time.perf_counter() - began))
    step_of(engines[4096])
    table = Table("program", "sentences/s", "new tokens/s", title=torch.cuda.get_device_name())
    for name, values in speeds.items():
        median = statistics.median(values)
        table.add_row(name, f"{median:,.0f}", f"{WORDS * median:,.0f}")
    Console(width=100).print(table)


if __name__ == "__main__":
    main()
