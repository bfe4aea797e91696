"""Generating text on a GPU: captured steps beside steps kernel by kernel, and beside `transformers`.

    python benchmarks/generating.py [--preset gpt2] [--tokens 200] [--rounds 3] [--without-peers]

The shape of GPT-2 with random weights in float32, greedy search, beginnings of 20 to 30 tokens, for one text and for 64
together. Random weights may end a text, so a text has at least as many tokens as at most. First, that captured steps
say what a processor says, with a small model. Rounds alternate; medians. With --device cpu --preset gpt-small --tokens
5 --without-peers, the script is tried without a GPU, and without captured steps.
"""

import argparse
import random
import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from regard import models, presets
from regard.family.generation import Generation
from regard.family.language_model import search_settings
from regard.models.fast import fast_form
from regard.translation.engines.benches import Benches

LENGTHS = (20, 30)
TINY = {"layers": 2, "d_model": 64, "d_ff": 128, "heads": 4, "d_k": 16, "d_v": 16, "vocabulary": 100}


class Ids:
    """As much of a tokeniser, and of its lines, as generating needs."""

    begin, end = 0, 1

    @property
    def tokeniser(self) -> "Ids":
        return self

    def decode(self, ids: Any) -> str:
        return " ".join(map(str, ids))


def model(preset: str, **changed: int) -> Any:
    torch.manual_seed(0)
    table = {"vocabulary": 50_257, **presets.load(preset).model, **changed}
    return models.build("decoder_only", models.read_settings(table, where="benchmark")).eval()


def beginnings(count: int, vocabulary: int) -> list[list[int]]:
    draw = random.Random(count)  # noqa: S311
    return [[draw.randrange(2, vocabulary) for _ in range(draw.randint(*LENGTHS))] for _ in range(count)]


def generating(shape: Any, device: torch.device, *, captured: bool) -> Generation:
    own = fast_form(shape.to(device), "decoding")
    return Generation(own, Ids(), device=device, benches=Benches() if captured else None)  # type: ignore[arg-type]


def promise(device: torch.device) -> None:
    """Prints how many texts of a small model are the same as on a processor."""
    given, settings = beginnings(50, TINY["vocabulary"]), search_settings(40, None, None, None, None, 1)
    shape = model("gpt-small", **TINY)
    expected = generating(shape, torch.device("cpu"), captured=False).all(given, settings)
    found = generating(shape, device, captured=True).all(given, settings)
    same = sum(one[0].ids == other[0].ids for one, other in zip(found, expected, strict=True))
    print(f"{same} of {len(given)} texts of a small model as on a processor", flush=True)


def theirs(shape: Any, count: int, tokens: int, device: torch.device) -> Callable[[], None]:
    """The same shape by `transformers`, whose texts have one length."""
    from transformers import GPT2Config, GPT2LMHeadModel

    settings = shape.settings
    config = GPT2Config(
        vocab_size=settings.vocabulary, n_layer=settings.layers, n_embd=settings.d_model, n_head=settings.heads,
        bos_token_id=0, eos_token_id=1, pad_token_id=1,
    )  # fmt: skip
    peer: Any = GPT2LMHeadModel(config).eval().to(device)
    ids = torch.randint(2, settings.vocabulary, (count, LENGTHS[1]), device=device)
    limits = {"max_new_tokens": tokens, "min_new_tokens": tokens, "do_sample": False}

    def run() -> None:
        with torch.no_grad():
            peer.generate(ids, attention_mask=torch.ones_like(ids), **limits)

    return run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--preset", default="gpt2")
    parser.add_argument("--tokens", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--without-peers", action="store_true")
    parser.add_argument("--device", default="cuda")
    options = parser.parse_args()
    device = torch.device(options.device)
    if device.type == "cuda" and not torch.cuda.is_available():
        print("PyTorch sees no GPU here, so nothing is measured.")
        return
    if device.type == "cuda":
        promise(device)
    shape = model(options.preset)
    settings = search_settings(options.tokens, None, None, None, None, 1)
    settings = settings.model_copy(update={"min_length": options.tokens})
    for count in (1, 64):
        given = beginnings(count, shape.settings.vocabulary)
        programs: dict[str, Callable[[], Any]] = {}
        for name in ("captured steps", "kernel by kernel")[device.type != "cuda" :]:
            way = generating(shape, device, captured=name == "captured steps")
            programs[name] = partial(way.all, given, settings)
        if not options.without_peers:
            programs["transformers, generate"] = theirs(shape, count, options.tokens, device)
        measure(programs, count * options.tokens, options.rounds)


def measure(programs: dict[str, Callable[[], Any]], tokens: int, rounds: int) -> None:
    """Prints the first run of each, which compiles and captures, and the median of those that follow."""
    seconds: dict[str, list[float]] = {name: [] for name in programs}
    for _ in range(rounds + 1):
        for name, program in programs.items():
            began = time.perf_counter()
            program()
            if torch.cuda.is_available():
                torch.cuda.synchronize()
            seconds[name].append(time.perf_counter() - began)
    for name, values in seconds.items():
        median = statistics.median(values[1:])
        print(
            f"{tokens:,} tokens, {name:24}{tokens / median:10,.0f} tokens/s  (first run {values[0]:.2f} s)", flush=True
        )


if __name__ == "__main__":
    main()
