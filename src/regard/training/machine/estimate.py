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
from regard.text.inspection.statistics import SideStatistics
from regard.training.advice import Advice
from regard.training.machine.precision import Precision, precision_for

_OPERATIONS = 6
_EFFICIENCY = 0.4  # of the speed of bare matrix products; the rest of the time goes to everything between them
_EFFICIENCY_IN_BF16 = 0.6
_BYTES_A_PARAMETER = 16  # the weight, its gradient and Adam's two means, in float32
_PROGRAM = 400 << 20  # Python and torch themselves
_ENOUGH_SECONDS = 0.5
_ROWS = 8192  # of the product that is measured: tokens
_LONGEST_WORD = 20  # in characters, on the average; beyond it, a script has no spaces


class Estimate(NamedTuple):
    """What training by a preset will need."""

    parameters: int
    memory: int  # bytes
    steps: int
    epochs: float
    seconds: float
    device: str
    speed: float  # floating-point operations a second, measured

    def table(self) -> dict[str, Any]:
        """The estimate for programs."""
        rounded = {"epochs": round(self.epochs, 1), "seconds": round(self.seconds), "speed": round(self.speed)}
        return self._asdict() | rounded


def estimate(advice: Advice, *, source: SideStatistics, target: SideStatistics) -> Estimate:
    """What the training that is advised will need on this machine."""
    preset = presets.load(advice.preset)
    device = device_for(None)
    precision = precision_for(device, "auto")
    parameters = _parameters(advice, preset.model)
    steps, batch = preset.training["steps"], preset.training["batch_tokens"]
    speed = _speed(preset.model["d_model"], preset.model["d_ff"], device, precision)
    tokens = max(tokens_of(source, advice, target=False), tokens_of(target, advice, target=True))
    efficiency = _EFFICIENCY_IN_BF16 if precision.name == "bf16" else _EFFICIENCY
    return Estimate(
        parameters=parameters,
        memory=memory(preset.model, parameters, batch, advice.vocabulary, in_bf16=precision.name == "bf16"),
        steps=steps,
        epochs=steps * batch / max(1.0, tokens),
        seconds=steps * batch * parameters * _OPERATIONS / (speed * efficiency),
        device=device.type,
        speed=speed,
    )


def tokens_of(side: SideStatistics, advice: Advice, *, target: bool) -> float:
    """About how many tokens a side will have, the end token of each text included."""
    parts = advice.tokeniser.sides()
    kind = parts[-1 if target else 0].kind
    texts = side.characters.counts.total()
    if kind == "words":
        return side.words.total + texts
    if kind == "characters":
        return side.characters.total + texts
    return side.characters.total / _characters_a_token(advice.vocabulary, side) + texts


def _characters_a_token(vocabulary: int, side: SideStatistics) -> float:
    """Larger vocabularies have longer subwords: a share of a word, as measured for English and German."""
    word = side.characters.total / max(1, side.words.total)
    shares = {2_000: 0.52, 4_000: 0.6, 8_000: 0.68, 16_000: 0.72, 32_000: 0.78}
    return word * shares.get(vocabulary, 0.7) if word < _LONGEST_WORD else 1.5


def _parameters(advice: Advice, model: dict[str, Any]) -> int:
    from regard import models

    sides = advice.tokeniser.sides()
    sizes = {"source": sides[0].vocabulary, "target": sides[-1].vocabulary}
    table = models.sized(model, sizes, separate=len(sides) > 1)
    settings = models.read_settings(table, where=f"preset {advice.preset!r}")
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
