"""What 1, 8 and 64 H200 would do, computed from measured step times, bytes and stated link speeds.

    python benchmarks/scaling.py

Nothing here is measured: the figures at the top of this file are, or are stated by manufacturers, and each says which.
docs/scaling.md shows the tables and what they leave out.
"""

from __future__ import annotations

from typing import NamedTuple

import torch

from regard import models, presets

VOCABULARY = 37_000
TOKENS = 25_200  # target tokens a step and card, as measured: 198 rows of 128, 98.8% full (docs/performance.md)
SPEED = {"base": 1_057_000, "big": 408_000}  # target tokens a second on one H200, measured
OPTIMISER, IDLE = 0.61e-3, 1.13e-3  # seconds of a step of `base` that do not depend on its tokens, measured
START = 99.0  # seconds before the first step on 2.75 million pairs: tokeniser, preparation, compilation; measured

NVLINK = 450e9  # bytes a second and direction of a card within a machine, stated (NVLink 4: 900 GB/s both ways)
NETWORKS = {"400 Gb/s a card": 50e9, "100 Gb/s a machine": 12.5e9 / 8}  # bytes a second, direction and card, stated
REACHED = 0.8  # of a stated speed; an assumption
CARDS = 8  # in a machine

PAIR = 28  # target tokens of a pair: the mean length of WMT's English and German
CORPORA = {"4.5M pairs": (4_500_000, 20), "100M pairs": (100_000_000, 3)}  # pairs, epochs; 20 epochs are the paper's


class Size(NamedTuple):
    """A preset on one card."""

    name: str
    weights: int

    @property
    def bytes(self) -> int:
        """What a step sums over all processes: gradients in float32."""
        return 4 * self.weights

    @property
    def step(self) -> float:
        """Seconds of a step on one card, measured."""
        return TOKENS / SPEED[self.name]

    @property
    def fixed(self) -> float:
        """Seconds of these that remain however few tokens the step has; for `big`, the optimiser's by its weights."""
        return OPTIMISER * self.weights / size("base").weights + IDLE


def size(name: str) -> Size:
    with torch.device("meta"):
        table = models.sized(presets.load(name).model, dict.fromkeys(("source", "target", "text"), VOCABULARY))
        model = models.build("transformer", models.read_settings(table, where=name))
    return Size(name, sum(weight.numel() for weight in model.parameters()))


def exchange(count: int, size: int, network: float) -> float:
    """Seconds of a sum over so many cards: within each machine, between machines by every card, and within again.

    Rings move (n - 1) / n of the bytes to scatter the sums and as much again to gather them. Between machines, each
    card moves its share of the sums.
    """
    inside = min(count, CARDS)
    seconds = 2 * (inside - 1) / inside * size / (REACHED * NVLINK)
    machines = count // CARDS
    if machines > 1:
        seconds += 2 * (machines - 1) / machines * size / CARDS / (REACHED * network)
    return seconds


def growing_batches(sizes: list[Size], network: str) -> None:
    """Each card has as many tokens as were measured: the batch grows with the cards."""
    titles = ("cards", "tokens a step", "ms a step, of which sums", "tokens/s", "efficiency", *CORPORA)
    print(f"\n| {network} | {' | '.join(titles)} |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for found in sizes:
        for cards in (1, 8, 64):
            sums = exchange(cards, found.bytes, NETWORKS[network])
            step = found.step + sums
            speed = cards * TOKENS / step
            runs = [
                f"{_time(pairs * epochs * PAIR / speed + START)}, {pairs * epochs * PAIR / TOKENS / cards:,.0f} steps"
                for pairs, epochs in CORPORA.values()
            ]
            print(
                f"| {found.name} | {cards} | {cards * TOKENS:,} | {1000 * step:.1f}, {1000 * sums:.1f} "
                f"| {speed / 1e6:.1f}M "
                f"| {100 * found.step / step:.0f}% | {' | '.join(runs)} |"
            )


def fixed_batches(sizes: list[Size], tokens: int) -> None:
    """The batch stays the same, so that each card has less to do and sums the same bytes."""
    counts = (1, 2, 4, 8, 16, 32, 64)
    print(f"\n| {tokens:,} tokens a step | {' | '.join(f'{count} cards' for count in counts)} |")
    print(f"| {' | '.join(['---'] * (len(counts) + 1))} |")
    for network, speed in NETWORKS.items():
        for found in sizes:
            scaled = (found.step - found.fixed) * tokens / TOKENS
            times = [scaled / count + found.fixed + exchange(count, found.bytes, speed) for count in counts]
            print(f"| {found.name}, {network} | {' | '.join(f'{times[0] / time:.1f}x' for time in times)} |")


def _time(seconds: float) -> str:
    return f"{seconds / 3600:.1f} h" if seconds > 5400 else f"{seconds / 60:.0f} min"


def main() -> None:
    sizes = [size(name) for name in SPEED]
    print("| preset | weights | bytes summed a step | ms a step on one card |\n| --- | --- | --- | --- |")
    for found in sizes:
        print(f"| {found.name} | {found.weights / 1e6:.1f}M | {found.bytes / 1e6:.0f} MB | {1000 * found.step:.1f} |")
    for network in NETWORKS:
        growing_batches(sizes, network)
    for tokens in (TOKENS, 8 * TOKENS):
        fixed_batches(sizes, tokens)


if __name__ == "__main__":
    main()
