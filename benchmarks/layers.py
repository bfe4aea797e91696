"""Table 1, measured: one layer of each kind over n words of width d, with kernels of k and neighbourhoods of r words.

    python benchmarks/layers.py [--rounds 5] [--device cpu|cuda]

Multiplications are counted exactly, time is the median of alternating rounds; both grow like n^a d^b, and a and b are
fitted. Steps in sequence are the matrix products that must wait for each other. The longest path is found by testing
which inputs reach which outputs: the first word is made not-a-number, and layers are stacked (in a recurrence, steps
are taken) until the last word has become one, too. The layers are bare, as in the paper's table: attention without
its projections, which would add n d^2. Convolutions are dilated where they are stacked, by k from layer to layer.

Shapes: [n, d]; a neighbourhood of r words is the word itself and those around it.
"""

import argparse
import math
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import FlopCounterMode

BASE = {"n": 512, "d": 256, "k": 3, "r": 32}
TIMED: dict[str, Sequence[int]] = {"n": (256, 512, 1024, 2048), "d": (128, 256, 512, 1024)}
COUNTED: dict[str, Sequence[int]] = {**TIMED, "k": (3, 5, 9), "r": (16, 32, 64)}
LENGTHS = (27, 81, 243)  # of the sentences in which steps and paths are measured

Layer = Callable[[Tensor], Tensor]


class Kind(NamedTuple):
    """A kind of layer, and the paper's line about it."""

    name: str
    build: Callable[[Mapping[str, int], int], Layer]  # sizes, and the number of the layer in a stack
    operations: str
    sequence: str
    path: str
    powers: Mapping[str, int]  # of the operations, what the counts must show


def self_attention(_: Mapping[str, int], __: int = 0) -> Layer:
    def layer(x: Tensor) -> Tensor:
        return (x @ x.T / math.sqrt(x.size(1))).softmax(dim=-1) @ x

    return layer


def restricted_attention(size: Mapping[str, int], _: int = 0) -> Layer:
    before, after = size["r"] // 2, (size["r"] - 1) // 2

    def layer(x: Tensor) -> Tensor:
        """Each word looks at the r words around it; beyond the ends stand zeros."""
        near = F.pad(x, (0, 0, before, after)).unfold(0, size["r"], 1)  # [n, d, r]
        weights = (x[:, None] @ near / math.sqrt(x.size(1))).softmax(dim=-1)  # [n, 1, r]
        return (weights @ near.transpose(1, 2))[:, 0]

    return layer


def recurrent(size: Mapping[str, int], _: int = 0) -> Layer:
    rnn = nn.RNN(size["d"], size["d"])
    return lambda x: rnn(x)[0]


def convolutional(size: Mapping[str, int], number: int = 0) -> Layer:
    """It looks backwards, as a decoder does: so, in a stack, no way to the last word leads beyond the row."""
    dilation = size["k"] ** number
    convolution = nn.Conv1d(size["d"], size["d"], size["k"], dilation=dilation)
    return lambda x: convolution(F.pad(x.T[None], ((size["k"] - 1) * dilation, 0)))[0].T


KINDS = (
    Kind("self-attention", self_attention, "n^2 d", "1", "1", {"n": 2, "d": 1}),
    Kind("recurrent", recurrent, "n d^2", "n", "n", {"n": 1, "d": 2}),
    Kind("convolutional", convolutional, "k n d^2", "1", "log_k(n)", {"k": 1, "n": 1, "d": 2}),
    Kind("self-attention, restricted", restricted_attention, "r n d", "1", "n/r", {"r": 1, "n": 1, "d": 1}),
)


def fitted(sizes: Sequence[int], values: Sequence[float]) -> float:
    """The power with which values grow: the slope of a straight line through the logarithms."""
    return statistics.linear_regression([math.log(size) for size in sizes], [math.log(v) for v in values]).slope


def on_device(layer: Layer, device: str) -> Layer:
    for cell in getattr(layer, "__closure__", None) or ():
        if isinstance(cell.cell_contents, nn.Module):
            cell.cell_contents.to(device)
    return layer


@torch.no_grad()
def seconds(layer: Layer, x: Tensor) -> float:
    """One pass; short ones are repeated and shared out."""
    times = 1 if x.device.type == "cpu" else 20
    began = time.perf_counter()
    for _ in range(times):
        result = layer(x)
    float(result[0, 0])  # waits for the device
    return (time.perf_counter() - began) / times


@torch.no_grad()
def multiplications(kind: Kind, size: Mapping[str, int]) -> int:
    with FlopCounterMode(display=False) as counter:
        kind.build(size, 0)(torch.randn(size["n"], size["d"]))
    return counter.get_total_flops() // 2


class Followed(TorchDispatchMode):
    """Follows every tensor, and how many matrix products had to be done one after the other before it was there."""

    PRODUCTS = ("mm", "addmm", "bmm", "convolution", "matmul")

    def __init__(self) -> None:
        super().__init__()
        self.after: dict[int, int] = {}
        self.alive: list[Any] = []

    def __torch_dispatch__(self, function: Any, _: Any, arguments: Any = (), named: Any = None) -> Any:
        result = function(*arguments, **(named or {}))
        flat = [part for part in tree_leaves((arguments, named)) if isinstance(part, Tensor)]
        before = max((self.after.get(id(part), 0) for part in flat), default=0)
        product = function.overloadpacket.__name__ in self.PRODUCTS
        for part in tree_leaves(result):
            if isinstance(part, Tensor):
                self.after[id(part)] = max(self.after.get(id(part), 0), before + product)
                self.alive.append(part)
        return result


@torch.no_grad()
def in_sequence(kind: Kind, n: int) -> int:
    """Matrix products that wait for each other."""
    layer, x = kind.build({**BASE, "n": n, "d": 8}, 0), torch.randn(n, 8)
    with Followed() as followed:
        result = layer(x)
    return followed.after[id(result)]


@torch.no_grad()
def longest_path(kind: Kind, n: int) -> int:
    """Layers, or steps of a recurrence, until the first word reaches the last."""
    size = {**BASE, "n": n, "d": 4, "r": 9}
    if kind.name == "recurrent":  # it is one layer: a word is one step farther away for each word between
        cell, state, steps = nn.RNNCell(4, 4), torch.zeros(1, 4), 0
        for t in range(n):
            state = cell(torch.full((1, 4), math.nan if t == 0 else 0.0), state)
            steps += bool(state.isnan().any())
        return steps
    x, layers = torch.zeros(n, 4), 0
    x[0] = math.nan
    while not x[-1].isnan().any():
        x, layers = kind.build(size, layers)(x), layers + 1
    return layers


def timings(rounds: int, device: str) -> dict[str, dict[str, float]]:
    """The powers of n and d with which each layer's time grows."""
    cases: dict[tuple[str, str, int], tuple[Layer, Tensor]] = {}
    for kind in KINDS:
        for variable, values in TIMED.items():
            for value in values:
                size = {**BASE, variable: value}
                layer = on_device(kind.build(size, 0), device)
                cases[kind.name, variable, value] = layer, torch.randn(size["n"], size["d"], device=device)
    spent: dict[tuple[str, str, int], list[float]] = {case: [] for case in cases}
    for _ in range(rounds + 1):  # the first does not count
        for case, (layer, x) in cases.items():
            spent[case].append(seconds(layer, x))
    medians = {case: statistics.median(times[1:]) for case, times in spent.items()}
    return {
        kind.name: {
            variable: fitted(values, [medians[kind.name, variable, value] for value in values])
            for variable, values in TIMED.items()
        }
        for kind in KINDS
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    options = parser.parse_args()
    torch.manual_seed(0)
    times = timings(options.rounds, options.device)
    heads = ["layer", "operations: paper", "counted", f"time on {options.device}", "in sequence: paper"]
    heads += [f"products in sequence, n = {', '.join(map(str, LENGTHS))}", "longest path: paper"]
    rows = [[*heads, f"found, n = {', '.join(map(str, LENGTHS))}"]]
    for kind in KINDS:
        powers = {}
        for variable in kind.powers:
            sizes = COUNTED[variable]
            powers[variable] = fitted(sizes, [multiplications(kind, {**BASE, variable: size}) for size in sizes])
        rows.append(
            [
                kind.name,
                f"O({kind.operations})",
                " ".join(f"{variable}^{power:.2f}" for variable, power in powers.items()),
                " ".join(f"{variable}^{power:.2f}" for variable, power in times[kind.name].items()),
                f"O({kind.sequence})",
                ", ".join(str(in_sequence(kind, n)) for n in LENGTHS),
                f"O({kind.path})",
                ", ".join(str(longest_path(kind, n)) for n in LENGTHS),
            ]
        )
    print(f"Table 1, measured; k = {BASE['k']}, r = {BASE['r']} (9 for the path), medians of {options.rounds} rounds")
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for number, row in enumerate(rows):
        print(f"| {' | '.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))} |")
        if not number:
            print(f"|{'|'.join('-' * (width + 2) for width in widths)}|")


if __name__ == "__main__":
    main()
