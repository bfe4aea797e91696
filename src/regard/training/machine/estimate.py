"""What training will need of a machine: parameters, memory and time. Estimates, to tell minutes from days.

Every parameter takes part in one multiplication and one addition for each token, and in twice as much again when the
gradients are computed: 6 operations for each parameter and token. How fast this machine does them is measured, in the
numbers that training would use. On a GPU with bf16 a batch leaves about half as many numbers behind as elsewhere, since
our own kernels compute again what is quickly computed: docs/performance.md has what `base` and `big` take.
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import torch

from regard import presets
from regard.devices import device_for
from regard.tokens.tokeniser_settings import TokeniserSettings
from regard.training.advice import Advice
from regard.training.machine.precision import Precision, advised, precision_for

_OPERATIONS = 6
_EFFICIENCY = 0.4  # of the speed of bare matrix products; the rest of the time goes to everything between them
_EFFICIENCY_IN_BF16 = 0.6
_EFFICIENCY_ON_A_CPU_IN_BF16 = 0.3  # `tiny` was measured at 0.3, `small` at 0.5
_BYTES_A_PARAMETER = 16  # the weight, its gradient and Adam's two means, in float32
_PROGRAM = 400 << 20  # Python and torch themselves
_ENOUGH_SECONDS = 0.5
_ROWS = 8192  # of the product that is measured: tokens


class Estimate(NamedTuple):
    """What training by a preset will need."""

    parameters: int
    memory: int  # bytes
    steps: int
    epochs: float
    seconds: float
    device: str
    precision: str
    speed: float  # floating-point operations a second, measured

    def table(self) -> dict[str, Any]:
        """The estimate for programs."""
        rounded = {"epochs": round(self.epochs, 1), "seconds": round(self.seconds), "speed": round(self.speed)}
        return self._asdict() | rounded


class Speeds:
    """How fast a device trains models of the presets' sizes; each is measured once."""

    def __init__(self, device: torch.device, precision: str = "auto") -> None:
        self.device, self.precision = device, precision_for(device, precision)
        self._measured: dict[str, float] = {}

    def operations(self, preset: str) -> float:
        """Floating-point operations a second in the products of this preset."""
        if preset not in self._measured:
            model = presets.load(preset).model
            self._measured[preset] = _speed(model["d_model"], model["d_ff"], self.device, self.precision)
        return self._measured[preset]

    def tokens_per_second(self, preset: str, tokeniser: TokeniserSettings) -> float:
        """Target tokens that are trained on in a second."""
        return self.operations(preset) * self._efficiency / (_parameters(preset, tokeniser) * _OPERATIONS)

    @property
    def _efficiency(self) -> float:
        if self.precision.name != "bf16":
            return _EFFICIENCY
        return _EFFICIENCY_ON_A_CPU_IN_BF16 if self.device.type == "cpu" else _EFFICIENCY_IN_BF16


def speeds_of(device: torch.device) -> Speeds:
    """In the precision that auto chooses for this device."""
    return Speeds(device, advised(device)[0])


def estimate(advice: Advice, speeds: Speeds | None = None) -> Estimate:
    """What the training that is advised will need on this machine."""
    speeds = speeds or speeds_of(device_for(None))
    model, in_bf16 = presets.load(advice.preset).model, speeds.precision.name == "bf16"
    in_bf16 = in_bf16 and speeds.device.type != "cpu"  # which keeps as much in bf16 as in float32
    parameters = _parameters(advice.preset, advice.tokeniser)
    work = advice.expected_steps * advice.batch_tokens
    return Estimate(
        parameters=parameters,
        memory=memory(model, parameters, advice.batch_tokens, advice.vocabulary, in_bf16=in_bf16),
        steps=advice.expected_steps,
        epochs=work / max(1.0, advice.tokens),
        seconds=work / speeds.tokens_per_second(advice.preset, advice.tokeniser),
        device=speeds.device.type,
        precision=speeds.precision.name,
        speed=speeds.operations(advice.preset),
    )


def _parameters(preset: str, tokeniser: TokeniserSettings) -> int:
    from regard import models

    sides = tokeniser.sides()
    sizes = {"source": sides[0].vocabulary, "target": sides[-1].vocabulary}
    table = models.sized(presets.load(preset).model, sizes, separate=len(sides) > 1)
    settings = models.read_settings(table, where=f"preset {preset!r}")
    with torch.device("meta"):
        built = models.build(table["architecture"], settings)
    return sum(parameter.numel() for parameter in built.parameters())


def memory(model: dict[str, Any], parameters: int, batch_tokens: int, vocabulary: int, *, in_bf16: bool) -> int:
    """Bytes: the program, the weights with what Adam keeps of them, and what a batch leaves behind on its way."""
    encoder, decoder = model["encoder_layers"], model["decoder_layers"]
    width, inner = model["d_model"], model["d_ff"]
    layers = encoder * (12 * width + 3 * inner) + decoder * (20 * width + 3 * inner)
    a_token = 2 * (0.53 * layers + vocabulary) if in_bf16 else 4 * (layers + 4 * vocabulary)
    return int(batch_tokens * a_token) + _BYTES_A_PARAMETER * parameters + _PROGRAM


def _speed(width: int, inner: int, device: torch.device, precision: Precision) -> float:
    """Floating-point operations a second, at best, in products of the shape that this model multiplies most."""
    left = torch.rand(_ROWS, width, device=device, dtype=precision.dtype)
    right = torch.rand(width, inner, device=device, dtype=precision.dtype)
    times = 50 if device.type == "cuda" else 1  # a GPU would wait for Python after each
    bursts: list[float] = []
    began = time.perf_counter()
    while len(bursts) < 3 or time.perf_counter() - began < _ENOUGH_SECONDS:
        start = time.perf_counter()
        for _ in range(times):
            product = left @ right
        float(product[0, 0])  # waits for the device
        bursts.append(time.perf_counter() - start)
    best = min(bursts)
    return times * 2 * _ROWS * width * inner / best
