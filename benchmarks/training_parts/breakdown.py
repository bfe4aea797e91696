"""Part "breakdown": where a step's time goes, kernel by kernel, and the floor beside it.

Kernels are told apart by their names. A captured graph knows no shapes, so the products of the output projection are
told by their time: each is some fifteen times as large as any other product.
"""

from __future__ import annotations

import re
import time
from collections import defaultdict
from collections.abc import Iterable
from typing import Any, NamedTuple

import torch
from torch.profiler import ProfilerActivity, profile

from training_parts import work
from training_parts.ours import Workshop
from training_parts.scale import wait

STEPS = 5
LARGE = 150.0  # microseconds; a product that takes longer belongs to the output projection
PRODUCT = "other matrix products"
KINDS: dict[str, str] = {  # the first whose pattern is found
    "copies and casts": r"memcpy|memset",
    "optimiser": r"adam|multi_tensor|foreach|lpnorm|clip_grad",
    "attention": r"^_attend|fmha|flash|attention|sdpa|softmax_(?:warp|forward|backward)",
    "cross-entropy": r"^_lose|^_differ|entropy|logsumexp|log_softmax|nll|label_smooth|smoothed|(?:fused|_)loss",
    PRODUCT: r"gemm|nvjet|cutlass|cublas|xmma|wgmma|splitk|triton_tem|aten::(?:mm|addmm|bmm)|_mm_\d*$|matmul",
    "LayerNorm, dropout, residual": r"^_normalise|layer_?norm|dropout|residual|rsqrt|var_mean|bernoulli|philox",
    "ReLU and biases": r"^_cut|relu|threshold|clamp_min|gelu|silu|bias|fused_sum|_sum_\d+$|reduce_kernel",
    "embedding": r"embedding|index_put|index_add|index_select|scatter|gather|sort|radix|unique|segment",
    "rest: masks, seeds, sums": r"eq_|bitwise|logical|tril|arange|inductor_seeds|distribution|mul_sum|where",
}
CASTS = r"copy|cast|_to_|cat_|transpose|clone|fill|zero"
OTHER, IDLE = "not recognised", "idle between kernels"


class Kernel(NamedTuple):
    """One run of one kernel, in microseconds."""

    name: str
    start: float
    end: float

    @property
    def time(self) -> float:
        return self.end - self.start


def kind_of(kernel: Kernel) -> str:
    """What work this kernel does."""
    name = kernel.name.lower()
    for kind, pattern in KINDS.items():
        if re.search(pattern, name):
            return "output projection" if kind == PRODUCT and kernel.time >= LARGE else kind
    return "copies and casts" if re.search(CASTS, name) else OTHER


def busy(kernels: Iterable[Kernel]) -> float:
    """Microseconds in which at least one kernel runs."""
    total, until = 0.0, float("-inf")
    for kernel in sorted(kernels, key=lambda kernel: kernel.start):
        total += max(0.0, kernel.end - max(until, kernel.start))
        until = max(until, kernel.end)
    return total


def measure(shop: Workshop) -> None:
    """Prints the kinds of work with their floors, and the longest kernels."""
    scale, warm = shop.scale, shop.base()
    wait(scale.device)
    began = time.perf_counter()
    done = [warm.step() for _ in range(4 * STEPS)]
    wait(scale.device)
    milliseconds = 1e3 * (time.perf_counter() - began) / len(done)
    kernels = _profiled(shop)
    kinds: dict[str, float] = defaultdict(float)
    for kernel in kernels:
        kinds[kind_of(kernel)] += kernel.time / 1e3 / STEPS
    span = max(kernel.end for kernel in kernels) - min(kernel.start for kernel in kernels)
    kinds[IDLE] = (span - busy(kernels)) / 1e3 / STEPS
    tokens, _, slots = (sum(numbers) / len(done) for numbers in zip(*done, strict=True))
    settings = scale.settings("base")
    with torch.device("meta"):
        weights = _weights(shop)
    floors = work.floors(
        settings, work.operations_of(settings, shop.corpus()), tokens=tokens, positions=round(slots / 2),
        weights=weights, peak=shop.figures["peak"],
    )  # fmt: skip
    print(f"a step of base takes {milliseconds:.2f} ms; watched, {span / 1e3 / STEPS:.2f} ms")
    rows = {
        kind: {
            "milliseconds": kinds.get(kind, 0.0),
            "floor": floors.get(kind, (0.0, ""))[0],
            "of": floors.get(kind, (0.0, ""))[1],
        }
        for kind in dict.fromkeys([*floors, *sorted(kinds, key=lambda kind: -kinds[kind])])
    }
    print(f"{'':30} {'ms':>7} {'floor':>7}")
    for kind, row in rows.items():
        print(f"{kind:30} {row['milliseconds']:7.2f} {row['floor']:7.2f}  {row['of']}")
    floor = sum(row["floor"] for row in rows.values())
    print(f"{'together':30} {sum(kinds.values()):7.2f} {floor:7.2f}", flush=True)
    shop.figures["breakdown"] = {"milliseconds": milliseconds, "kinds": rows, "floor": floor}
    _longest(kernels)


def _weights(shop: Workshop) -> int:
    from regard.models.transformer import Transformer

    return sum(weight.numel() for weight in Transformer(shop.scale.settings("base")).parameters())


def _profiled(shop: Workshop) -> list[Kernel]:
    """The kernels of some steps; on a processor, what PyTorch calls its operations."""
    device, step = shop.scale.device, shop.base().step
    on_a_gpu = device.type == "cuda"
    with profile(activities=[ProfilerActivity.CUDA if on_a_gpu else ProfilerActivity.CPU]):
        step()  # starting to watch takes a while, once
        wait(device)
    with profile(activities=[ProfilerActivity.CUDA if on_a_gpu else ProfilerActivity.CPU]) as seen:
        for _ in range(STEPS):
            step()
        wait(device)
    wanted = torch.autograd.DeviceType.CUDA if on_a_gpu else torch.autograd.DeviceType.CPU
    events: list[Any] = [event for event in seen.events() or [] if event.device_type == wanted]
    events = [event for event in events if not getattr(event, "is_user_annotation", False)]
    if not on_a_gpu:
        events = [event for event in events if not event.cpu_children]
    return [Kernel(event.name, event.time_range.start, event.time_range.end) for event in events]


def _longest(kernels: list[Kernel]) -> None:
    times: dict[tuple[str, str], list[float]] = defaultdict(list)
    for kernel in kernels:
        times[kernel.name, kind_of(kernel)].append(kernel.time)
    print("the longest kernels: ms a step, how often a step, kind, name")
    for (name, kind), values in sorted(times.items(), key=lambda item: -sum(item[1]))[:25]:
        print(f"  {sum(values) / 1e3 / STEPS:7.3f}  {len(values) / STEPS:6.1f} x  {kind:28}  {name[:110]}")
