"""Part "gradients": those of one step as training makes them, beside float64.

Adam's first moment after the first step is a known share of the gradient, so what is compared is what a whole step,
compiled and captured, gives to Adam. The reference is computed on the processor in float64 throughout.
"""

from __future__ import annotations

import statistics
from copy import deepcopy
from itertools import islice

import torch
from torch import Tensor

from regard.batches.rows import Batch
from regard.models.transformer import Transformer
from training_parts import ours
from training_parts.ours import Workshop
from training_parts.scale import ROW, free_memory

ROUNDING = 2.0**-8  # the unit roundoff of bf16
MEDIAN, LARGEST = 8, 32  # so many roundings at the most: a gradient has passed some dozen matrices, each rounded
CPU = torch.device("cpu")


def measure(shop: Workshop) -> None:
    """Prints how far gradients are from float64's, and asserts the bounds."""
    scale = shop.scale
    torch.set_float32_matmul_precision("highest")
    torch.manual_seed(1)
    model = Transformer(scale.settings("base", dropout=0.0))
    tokens = scale.gradient_rows * ROW
    ((batch, _),) = islice(ours.loader(shop.corpus(), tokens).batches(), 1)
    exact = _gradients(shop, deepcopy(model).double(), batch, device=CPU)
    rounded = deepcopy(model).double()
    with torch.no_grad():
        for weight in rounded.parameters():
            weight.copy_(weight.bfloat16())
    found = {"float64, weights rounded to bf16": _gradients(shop, rounded, batch, device=CPU)}
    for name, precision, compiled in (
        ("float32, not compiled", "float32", False),
        ("bf16, not compiled", "auto", False),
        ("bf16, compiled", "auto", True),
    ):
        found[name] = _gradients(shop, deepcopy(model), batch, precision=precision, compiled=compiled)
        free_memory(scale.device)
    print(f"relative error of a tensor's gradient, in bf16's unit roundoff (2^-8), {len(exact)} tensors:")
    for name, gradients in found.items():
        errors = {tensor: _apart(gradients[tensor], exact[tensor]) for tensor in exact}
        worst = max(errors, key=lambda tensor: errors[tensor])
        median = statistics.median(errors.values())
        row = {"median": median, "largest": errors[worst], "worst": worst, "errors": errors}
        shop.figures.setdefault("gradients", {})[name] = row
        print(f"  {name:34} median {median / ROUNDING:.4f}, largest {errors[worst] / ROUNDING:.4f} ({worst})")
    median, largest = (shop.figures["gradients"]["bf16, compiled"][kind] / ROUNDING for kind in ("median", "largest"))
    told = f"median {median:.2f}, largest {largest:.2f} times bf16's roundoff; asked: {MEDIAN} and {LARGEST}"
    holds = median <= MEDIAN and largest <= LARGEST
    shop.figures.setdefault("checks", {})["gradients in bf16"] = told, holds
    assert holds, told


def _gradients(
    shop: Workshop,
    model: Transformer,
    batch: Batch,
    *,
    precision: str = "auto",
    compiled: bool = False,
    device: torch.device | None = None,
) -> dict[str, Tensor]:
    """What Adam was given in one step."""
    settings = ours.training_settings(shop.scale, tokens=batch.labels.numel(), compiled=compiled)
    trained = ours.optimisation(model, settings, device or shop.scale.device, precision)
    trained.step(batch, number=1, rate=0.0)
    moments = trained.moments()
    share, part = 1 - settings.adam_beta1, "exp_avg/"
    return {name.removeprefix(part): moment.double() / share for name, moment in moments.items() if name.startswith(part)}


def _apart(one: Tensor, exact: Tensor) -> float:
    return float((one - exact).norm() / exact.norm())
