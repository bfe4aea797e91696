"""Our kernels for training beside PyTorch's, on a GPU: what they compute, and how long they take.

    python benchmarks/kernel_speeds.py [--tiny]

Shapes of a step of the paper's models: 198 rows of 128 tokens, heads of 64, a vocabulary of 37,000, bf16. For each, the
largest error beside float32 relative to the largest value, and microseconds forward and backward, captured as a graph
over several sets of tensors, so that nothing is found in a cache. PyTorch's way is compiled. `--tiny` runs small shapes
in Triton's interpreter (TRITON_INTERPRET=1), to see that it runs.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor
from torch.nn import functional as F

from regard.kernels import works
from regard.models.fast.gpu import spans_of
from regard.models.parts.positions import Rotation
from regard.training.loss import smoothed_cross_entropy

SETS, TURNS, SMOOTHING, DROPOUT = 3, 15, 0.1, 0.1
Way = Callable[..., Tensor]


class Shapes(NamedTuple):
    """How large everything is."""

    device: str
    half: torch.dtype
    rows: int = 198
    length: int = 128
    vocabulary: int = 37_000


class Case(NamedTuple):
    """A kernel of ours, PyTorch's way, and what both are given."""

    name: str
    kernel: str
    ours: Way
    plain: Way
    sets: list[list[Tensor]]  # what has a gradient comes first
    others: list[Tensor]
    compares: bool = True  # not where both draw dropout


def attention(shapes: Shapes, heads: int, width: int) -> Case:
    segments = torch.arange(shapes.length, device=shapes.device) // 28
    mask = (segments[:, None] == segments).tril().expand(shapes.rows, 1, -1, -1).contiguous()
    spans = spans_of(mask, shapes.length)  # once a step, for all layers

    def ours(joined: Tensor, _mask: Tensor) -> Tensor:
        found: Tensor = torch.ops.regard.row_attention(joined, None, spans, heads)[0]
        return found

    def plain(joined: Tensor, mask: Tensor) -> Tensor:
        query, key, value = (part.unflatten(2, (heads, -1)).transpose(1, 2) for part in joined.chunk(3, -1))
        return F.scaled_dot_product_attention(query, key, value, attn_mask=mask).transpose(1, 2).flatten(2)

    sets = [[_drawn((shapes.rows, shapes.length, 3 * heads * width), shapes)] for _ in range(SETS)]
    return Case(f"attention, {heads} heads of {width}", "row_attention", ours, plain, sets, [mask])


def long_attention(shapes: Shapes, length: int, heads: int, width: int, *, sentence: int | None) -> Case:
    """Rows of one text each, for which PyTorch has its fastest way, or of many sentences, for which it needs a mask."""
    count = shapes.rows * shapes.length // length
    segments = torch.arange(length, device=shapes.device) // (sentence or length)
    mask = (segments[:, None] == segments).tril().expand(count, 1, -1, -1).contiguous()
    spans = spans_of(mask, length)

    def ours(joined: Tensor, _mask: Tensor) -> Tensor:
        found: Tensor = torch.ops.regard.long_row_attention(joined, None, spans, heads)[0]
        return found

    def plain(joined: Tensor, mask: Tensor) -> Tensor:
        query, key, value = (part.unflatten(2, (heads, -1)).transpose(1, 2) for part in joined.chunk(3, -1))
        how: dict[str, Any] = {"attn_mask": mask} if sentence else {"is_causal": True}
        return F.scaled_dot_product_attention(query, key, value, **how).transpose(1, 2).flatten(2)

    sets = [[_drawn((count, length, 3 * heads * width), shapes)] for _ in range(SETS)]
    name = f"attention, {count} rows of {length:,} tokens, sentences of {sentence or length:,}"
    return Case(name, "long_rows", ours, plain, sets, [mask])


def turning(shapes: Shapes, heads: int, width: int) -> Case:
    positions = torch.arange(shapes.length, device=shapes.device).expand(shapes.rows, -1) % 28
    rotation = Rotation(width, 10_000.0)

    def ours(joined: Tensor, cosines: Tensor, sines: Tensor) -> Tensor:
        found: Tensor = torch.ops.regard.turned(joined, cosines, sines, 2 * heads, False)
        return found

    def plain(joined: Tensor, *_: Tensor) -> Tensor:
        turned, values = joined.split([2 * heads * width, heads * width], dim=-1)
        return torch.cat([rotation(turned, positions, 2 * heads), values], dim=-1)

    sets = [[_drawn((shapes.rows, shapes.length, 3 * heads * width), shapes)] for _ in range(SETS)]
    return Case(
        f"rotary positions, {heads} heads of {width}", "turning", ours, plain, sets, [*rotation.angles(positions)]
    )


def loss(shapes: Shapes) -> Case:
    count = shapes.rows * shapes.length
    labels = torch.randint(shapes.vocabulary, (count,), device=shapes.device)
    real = torch.rand(count, device=shapes.device) < 0.98
    return Case(
        f"loss, {count:,} x {shapes.vocabulary:,} logits",
        "loss",
        lambda x, labels, real: torch.ops.regard.smoothed_cross_entropy(x, labels, real, SMOOTHING)[0],
        lambda x, labels, real: smoothed_cross_entropy(x, labels, SMOOTHING)[0] * real,
        [[_drawn((count, shapes.vocabulary), shapes)] for _ in range(2)],
        [labels, real],
    )


def projected_loss(shapes: Shapes, width: int) -> Case:
    count = shapes.rows * shapes.length
    labels = torch.randint(shapes.vocabulary, (count,), device=shapes.device)
    real = torch.rand(count, device=shapes.device) < 0.98

    def plain(states: Tensor, weight: Tensor, labels: Tensor, real: Tensor) -> Tensor:
        return (smoothed_cross_entropy(F.linear(states, weight), labels, SMOOTHING)[0] * real).sum()

    def drawn() -> list[Tensor]:
        states, weight = (_drawn((size, width), shapes) for size in (count, shapes.vocabulary))
        return [states, (weight.detach() / width**0.5).requires_grad_()]

    return Case(
        f"output projection and loss, {count:,} x {width:,} x {shapes.vocabulary:,}",
        "projected_loss",
        lambda *given: torch.ops.regard.projected_cross_entropy(*given, SMOOTHING)[0],
        plain,
        [drawn() for _ in range(SETS)],
        [labels, real],
    )


def relu(shapes: Shapes, width: int) -> Case:
    count = shapes.rows * shapes.length
    sizes = (count, width), (4 * width, width), (4 * width,)
    return Case(
        f"product with bias and ReLU, {count:,} x {width:,} x {4 * width:,}",
        "relu",
        lambda x, weight, bias: torch.ops.regard.relu_product(x, weight, bias),
        lambda x, weight, bias: F.linear(x, weight, bias).relu(),
        [[_drawn(size, shapes) for size in sizes] for _ in range(SETS)],
        [],
    )


def residual(shapes: Shapes, width: int, dropout: float) -> Case:
    count = shapes.rows * shapes.length
    sets = [
        [_drawn(size, shapes) for size in ((count, width), (count, width), (width,), (width,))] for _ in range(SETS)
    ]

    def ours(x: Tensor, y: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        seed = torch.randint(2**62, (1,), device=x.device) if dropout else None
        found: Tensor = torch.ops.regard.residual_norm(x, y, weight, bias, seed, dropout, 1e-5)[0]
        return found

    def plain(x: Tensor, y: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        return F.layer_norm(x + F.dropout(y, dropout), x.shape[-1:], weight, bias, 1e-5)

    name = f"dropout {dropout}, sum and normalisation, {count:,} x {width:,}"
    return Case(name, "residual", ours, plain, sets, [], compares=dropout == 0)


def _drawn(size: Sequence[int], shapes: Shapes) -> Tensor:
    return torch.randn(*size, device=shapes.device).to(shapes.half).requires_grad_()


def error(case: Case) -> float:
    """The largest of the result's and of all gradients'."""
    inputs = [tensor[:64] if case.kernel == "loss" else tensor for tensor in case.sets[0]]
    others = [tensor[:64] if case.kernel == "loss" else tensor for tensor in case.others]
    inputs = [tensor.detach().requires_grad_() for tensor in inputs]
    precise = [tensor.detach().float().requires_grad_() for tensor in inputs]
    found, expected = case.ours(*inputs, *others), case.plain(*precise, *others)
    gradient = torch.randn_like(expected)
    ours = (found, *torch.autograd.grad(found, inputs, gradient.to(found.dtype)))
    theirs = (expected, *torch.autograd.grad(expected, precise, gradient))
    apart = [(one.float() - other).detach() for one, other in zip(ours, theirs, strict=True)]
    return max(float(one.abs().max() / other.detach().abs().max()) for one, other in zip(apart, theirs, strict=True))


def microseconds(way: Way, case: Case) -> float:
    """Of the way forward and backward; the median of some turns."""

    def both(inputs: list[Tensor]) -> Any:
        result = way(*inputs, *case.others)
        return torch.autograd.grad(result, inputs, torch.ones_like(result))

    if case.sets[0][0].device.type == "cpu":
        both(case.sets[0])
        return float("nan")
    for _ in range(2):
        both(case.sets[0])
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for inputs in case.sets:
            both(inputs)
    times = []
    for _ in range(TURNS):
        began, ended = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        began.record()
        graph.replay()
        ended.record()
        torch.cuda.synchronize()
        times.append(began.elapsed_time(ended) / len(case.sets))
    return 1e3 * statistics.median(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--tiny", action="store_true", help="small shapes, in Triton's interpreter")
    tiny = parser.parse_args().tiny
    if not tiny and not torch.cuda.is_available():
        print("PyTorch sees no GPU here, so nothing is measured.")
        return
    shapes = Shapes("cpu", torch.float16, 2, 32, 300) if tiny else Shapes("cuda", torch.bfloat16)
    cases: list[Callable[[], Case]] = [
        lambda: attention(shapes, *((2, 16) if tiny else (8, 64))),
        lambda: attention(shapes, *((4, 16) if tiny else (16, 64))),
        *(
            lambda length=length, sentence=sentence: long_attention(  # type: ignore[misc]
                shapes, length, *((2, 16) if tiny else (12, 64)), sentence=sentence
            )
            for length, sentence in (((64, None),) if tiny else ((1024, None), (1024, 28), (256, None)))
        ),
        lambda: turning(shapes, *((2, 16) if tiny else (8, 64))),
        *(lambda width=width: relu(shapes, width) for width in ((32,) if tiny else (512, 1024))),  # type: ignore[misc]
        lambda: loss(shapes),
        *(lambda width=width: projected_loss(shapes, width) for width in ((32,) if tiny else (512, 1024))),  # type: ignore[misc]
        *(
            lambda width=width, dropout=dropout: residual(shapes, width, dropout)  # type: ignore[misc]
            for width in ((128,) if tiny else (512, 1024))
            for dropout in (0.0, DROPOUT)
        ),
    ]
    title = "tiny" if tiny else torch.cuda.get_device_name()
    table = Table("", "largest error", "ours, us", "PyTorch, compiled, us", title=title)
    for make in cases:
        case = make()
        if not works(case.kernel):
            table.add_row(case.name, "does not work here")
            continue
        compiled = torch.compile(case.plain, dynamic=False, backend="aot_eager" if tiny else "inductor")
        wrong = f"{error(case):.1e}" if case.compares else ""
        cells = [f"{microseconds(way, case):,.0f}" for way in (case.ours, compiled)]
        table.add_row(case.name, wrong, *cells)
        print(case.name, wrong, *cells, flush=True)
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
