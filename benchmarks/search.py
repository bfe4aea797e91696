"""How long a search thinks between two steps of a model, beside the textbook's way: log_softmax over everything, and
one topk over the hypotheses' joint vocabulary. 64 sentences side by side, after ten words of each.

    python benchmarks/search.py [--device cuda] [--rounds N]
"""

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch

from regard.search import Request, Search, SearchSettings, build

SENTENCES, STEPS = 64, 10
PHRASES: dict[str, Any] = {"banned": ((5, 6), (7,)), "required": ((8, 9), (10,))}
SEARCHES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "beam 4": ({}, {}),
    "beam 4, with phrases": ({}, PHRASES),
    "greedy": ({"beam_size": 1}, {}),
    "sampling": ({"method": "sampling"}, {}),
    "sampling, top-k 10": ({"method": "sampling", "top_k": 10}, {}),
}


def busy(settings: dict[str, Any], phrases: dict[str, Any], logits: torch.Tensor) -> Search:
    search = build(SearchSettings(**settings, min_length=20), begin=0, end=1, device=logits.device)
    search.admit([Request(source_length=25, number=n, **phrases) for n in range(SENTENCES)])
    for _ in range(STEPS):
        search.advance(logits[: SENTENCES * search.width].clone())
    return search


def textbook(logits: torch.Tensor) -> list[int]:
    totals = logits.log_softmax(-1).view(SENTENCES, -1)
    _, places = totals.topk(8)
    tokens = places % logits.size(1)
    return (tokens == 1).any(1).tolist()


def seconds(action: Callable[[torch.Tensor], object], logits: torch.Tensor) -> float:
    copy = logits.clone()
    if logits.is_cuda:
        torch.cuda.synchronize()
    start = time.perf_counter()
    action(copy)
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    print(
        f"milliseconds a step, {SENTENCES} sentences, medians of {options.rounds} alternating rounds, {options.device}"
    )
    print(f"{'':24}{'V = 8,000':>12}{'V = 37,000':>12}")
    table: dict[str, list[float]] = {}
    for vocabulary in (8_000, 37_000):
        logits = 3 * torch.randn(SENTENCES * 4, vocabulary, device=options.device)
        actions: dict[str, Callable[[torch.Tensor], object]] = {"beam 4, textbook": textbook}
        for name, (settings, phrases) in SEARCHES.items():
            search = busy(settings, phrases, logits)
            actions[name] = lambda copy, search=search: search.advance(copy[: SENTENCES * search.width])  # type: ignore[misc]
        times: dict[str, list[float]] = {name: [] for name in actions}
        for _ in range(options.rounds):
            for name, action in actions.items():
                times[name].append(seconds(action, logits))
        for name, measured in times.items():
            table.setdefault(name, []).append(1000 * statistics.median(measured))
    for name, row in table.items():
        print(f"{name:24}" + "".join(f"{cell:12.2f}" for cell in row))


if __name__ == "__main__":
    main()
