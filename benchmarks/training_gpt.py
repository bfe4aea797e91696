"""Training a language model: our step with the preset `gpt2` beside a plain compiled loop on parts of torch.nn.

    python benchmarks/training_gpt.py [--rows 32] [--rounds 5] [--tiny]

Both have GPT-2's published shape (124 million parameters), rows of 1,024 random tokens, dropout 0 as in most such
loops, AdamW, and on a GPU bf16. The plain loop is what people write: nn.Embedding, nn.LayerNorm, nn.Linear and
scaled_dot_product_attention under torch.compile and autocast, with a fused optimiser. The two alternate in rounds;
medians are compared. `--tiny` runs both in small on a processor, to see that it works; its figures mean nothing.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard import models, presets
from regard.batches.rows import Batch, rows_of
from regard.tasks import language
from regard.training.distribution import Processes
from regard.training.machine.precision import precision_for
from regard.training.optimisation import Optimisation
from regard.training.training_settings import TrainingSettings
from training_parts import scale

RATE = 1e-4
Step = Callable[[], None]


class Size(NamedTuple):
    """What is trained."""

    rows: int
    length: int
    vocabulary: int
    layers: int
    width: int
    heads: int

    def work(self, parameters: int) -> float:
        """Operations of a step: six for each weight and token, and attention's products over the tokens before."""
        tokens = self.rows * self.length
        return 6.0 * parameters * tokens + 6.0 * self.layers * self.width * self.length * tokens


FULL = Size(32, 1024, 50_304, 12, 768, 12)
TINY = Size(4, 64, 96, 2, 32, 4)


class Block(nn.Module):
    """A layer as GPT-2 has it."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.heads, width = size.heads, size.width
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.joined, self.joining = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.inner, self.outer = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        rows, length, width = x.shape
        parts = self.joined(self.first(x)).view(rows, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        attended = F.scaled_dot_product_attention(*parts, is_causal=True)
        x = x + self.joining(attended.transpose(1, 2).reshape(rows, length, width))
        return x + self.outer(F.gelu(self.inner(self.second(x)), approximate="tanh"))


class Plain(nn.Module):
    """A language model on parts of torch.nn, with its loss."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.tokens = nn.Embedding(size.vocabulary, size.width)
        self.positions = nn.Embedding(size.length, size.width)
        self.blocks = nn.ModuleList(Block(size) for _ in range(size.layers))
        self.norm = nn.LayerNorm(size.width)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.tokens(ids) + self.positions(torch.arange(ids.size(1), device=ids.device))
        for block in self.blocks:
            x = block(x)
        logits = F.linear(self.norm(x), self.tokens.weight)[:, :-1]
        return F.cross_entropy(logits.flatten(0, 1).float(), ids[:, 1:].flatten())


def plain(size: Size, ids: list[Tensor], device: torch.device, *, compiled: bool) -> Step:
    """The loop that people write."""
    torch.manual_seed(1)
    model = Plain(size).to(device)
    run = torch.compile(model) if compiled else model
    adam = torch.optim.AdamW(model.parameters(), lr=RATE, betas=(0.9, 0.95), fused=True)
    numbers = iter(range(10**9))

    def step() -> None:
        with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
            loss = run(ids[next(numbers) % len(ids)].to(device, non_blocking=True))
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        adam.step()
        adam.zero_grad(set_to_none=True)

    return step


def ours(size: Size, ids: list[Tensor], device: torch.device, *, compiled: bool) -> tuple[Step, int, Any]:
    """The step that `regard train` makes, the number of its parameters, and its model."""
    torch.manual_seed(1)
    shape = {"layers": size.layers, "d_model": size.width, "d_ff": 4 * size.width, "heads": size.heads,
             "d_k": size.width // size.heads, "d_v": size.width // size.heads, "learned_positions": size.length,
             "dropout": 0.0, "vocabulary": size.vocabulary}  # fmt: skip
    table = {**presets.load("gpt2").model, **shape}
    kind = models.architecture("decoder_only")
    model = models.build("decoder_only", models.read_settings(table, where="benchmark")).to(device)
    settings = {"batch_tokens": size.rows * size.length, "row_lengths": [size.length], "label_smoothing": 0.0,
                "gradient_clip": 1.0, "compile": "yes" if compiled else "no"}  # fmt: skip
    trained = Optimisation(
        model, TrainingSettings.read(settings, where="benchmark"), device=device,
        precision=precision_for(device, "auto")._replace(whole=kind.rounds), processes=Processes(), say=print,
        kind=kind,
    )  # fmt: skip
    batches = [batch_of(each) for each in ids]
    if device.type == "cuda":
        batches = [batch.pinned() for batch in batches]
    numbers = iter(range(1, 10**9))

    def step() -> None:
        number = next(numbers)
        trained.step(batches[number % len(batches)], number=number, rate=RATE)

    return step, sum(parameter.numel() for parameter in model.parameters()), model


def batch_of(ids: Tensor) -> Batch:
    """A row for each text."""
    batch = language.batch({"text": rows_of([[row] for row in ids.tolist()])}, begin=0, tokens=0)
    return batch._replace(tokens=max(1, int(batch.labelled.sum())))


def rounds(steps: dict[str, Step], device: torch.device, *, count: int, each: int) -> dict[str, list[float]]:
    """Seconds of a step, in alternating rounds."""
    found: dict[str, list[float]] = {name: [] for name in steps}
    for _ in range(count):
        for name, step in steps.items():
            scale.wait(device)
            began = time.perf_counter()
            for _ in range(each):
                step()
            scale.wait(device)
            found[name].append((time.perf_counter() - began) / each)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--rows", type=int, help="rows of 1,024 tokens in a batch")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tiny", action="store_true", help="in small, on a processor")
    chosen = parser.parse_args()
    if not chosen.tiny and not torch.cuda.is_available():
        print("PyTorch sees no GPU here, so nothing is measured. (--tiny tries everything in small.)")
        return
    device = torch.device("cpu" if chosen.tiny else "cuda")
    size = TINY if chosen.tiny else FULL
    size = size._replace(rows=chosen.rows or size.rows)
    ids = [torch.randint(3, size.vocabulary, (size.rows, size.length)) for _ in range(4)]
    own, parameters, _ = ours(size, ids, device, compiled=not chosen.tiny)
    steps = {"Regard": own, "torch.nn, compiled": plain(size, ids, device, compiled=not chosen.tiny)}
    rounds(steps, device, count=1, each=3 if chosen.tiny else 20)  # compiled, captured, warm
    found = rounds(steps, device, count=chosen.rounds, each=3 if chosen.tiny else 20)
    top = scale.peak(scale.TINY if chosen.tiny else scale.FULL)
    print(f"{scale.machine(device)}; {parameters:,} parameters; a large product: {top / 1e12:,.2f} TFLOP/s")
    medians = {name: statistics.median(values) for name, values in found.items()}
    for name, seconds in medians.items():
        tokens, share = size.rows * size.length / seconds, size.work(parameters) / seconds / top
        print(f"{name:20} {tokens:12,.0f} tokens/s  {1000 * seconds:8.2f} ms a step  {share:.0%} of the peak")
    if not chosen.tiny:
        ratio = medians["torch.nn, compiled"] / medians["Regard"]
        print(f"{'holds' if ratio >= 1 else 'DOES NOT HOLD'}: Regard makes {ratio:.2f} times as many steps, at least 1")


if __name__ == "__main__":
    main()
