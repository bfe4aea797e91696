"""Part "gradients": those of one step as training makes them, beside float64.

Adam's first moment after the first step is a known share of the gradient, so what is compared is what a whole step,
compiled and captured, gives to Adam. The reference is computed on the processor in float64 throughout. The measure of
what rounding to bf16 must cost is the same in float64 with nothing but the weights rounded to bf16, once.
"""

from __future__ import annotations

import math
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
WITHIN = 1.5  # times the error of rounded weights: the median over all tensors, and the whole gradient
EACH, SMALL = 4.0, 0.1  # a tensor: so many times that, or so many roundings of the whole gradient's length
ROUNDED = "float64, weights rounded to bf16"
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
    found = {ROUNDED: _gradients(shop, rounded, batch, device=CPU)}
    for name, precision, compiled in (
        ("float32, not compiled", "float32", False),
        ("bf16, not compiled", "auto", False),
        ("bf16, compiled", "auto", True),
    ):
        found[name] = _gradients(shop, deepcopy(model), batch, precision=precision, compiled=compiled)
        free_memory(scale.device)
    print(f"relative errors in bf16's unit roundoff (2^-8), {len(exact)} tensors:")
    errors = {name: _errors(gradients, exact) for name, gradients in found.items()}
    for name, (whole, each) in errors.items():
        worst = max(each, key=lambda tensor: each[tensor])
        median, share = statistics.median(each.values()), float(exact[worst].norm() / _length(exact))
        shop.figures.setdefault("gradients", {})[name] = {"whole": whole, "median": median, "each": each}
        print(
            f"  {name:34} whole gradient {whole:.4f}, median {median:.4f}, largest {each[worst]:.4f} "
            f"({worst}, {share:.4%} of the whole gradient's length)"
        )
    (whole, each), (least, least_each) = errors["bf16, compiled"], errors[ROUNDED]
    median, least_median = (statistics.median(one.values()) for one in (each, least_each))
    told = (
        f"whole {whole:.2f} and median {median:.2f} times bf16's roundoff, {least:.2f} and {least_median:.2f} by "
        f"rounding weights alone; asked: {WITHIN} x"
    )
    bad = {
        tensor: error
        for tensor, error in each.items()
        if error > EACH * least_each[tensor] and error * exact[tensor].norm() > SMALL * _length(exact)
    }
    holds = whole <= WITHIN * least and median <= WITHIN * least_median and not bad
    shop.figures.setdefault("checks", {})["gradients in bf16"] = told, holds
    assert holds, f"{told}; too far: {bad}"


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
    return {
        name.removeprefix(part): moment.double() / share for name, moment in moments.items() if name.startswith(part)
    }


def _errors(gradients: dict[str, Tensor], exact: dict[str, Tensor]) -> tuple[float, dict[str, float]]:
    """The relative errors of the whole gradient and of each tensor, in roundings."""
    apart = {name: gradients[name] - exact[name] for name in exact}
    each = {name: float(apart[name].norm() / exact[name].norm()) / ROUNDING for name in exact}
    return _length(apart) / _length(exact) / ROUNDING, each


def _length(gradients: dict[str, Tensor]) -> float:
    return math.sqrt(sum(float(gradient.norm()) ** 2 for gradient in gradients.values()))
