"""What really works on this machine: each thing is tried in a process of its own.

A processor can announce instructions that it then stops at, which ends the process; so nothing is believed that was not
seen, and nothing is tried in the process that needs to go on.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from typing import NamedTuple

from regard.translation.engines import trials

WORTHWHILE = 1.5  # times as fast as float32: from here on, products in bf16 make training faster
_KEY = "products in bf16 beside float32"
_SECONDS = 120.0
_TOO_LONG = f"it took more than {_SECONDS:.0f} s"
_PRODUCT = """
import sys, torch
device, kind = sys.argv[1:]
torch.manual_seed(0)
layer = torch.nn.Linear(512, 256, device=device)
inputs = torch.randn(128, 512, device=device)
expected = layer(inputs)
layer = layer.to(getattr(torch, kind))
outputs = layer(inputs.to(layer.weight.dtype))
outputs.float().sum().backward()
torch.testing.assert_close(outputs.float(), expected, rtol=0.05, atol=0.05)
"""
_BESIDE_FLOAT32 = """
import time, torch
left, right = torch.rand(512, 512), torch.rand(512, 1024)
def best(kind):
    a, b = left.to(kind), right.to(kind)
    times = []
    for _ in range(20):
        began = time.perf_counter()
        product = a @ b
        times.append(time.perf_counter() - began)
    torch.testing.assert_close(product.float(), left @ right, rtol=0.05, atol=0.05)
    return min(times)
for kind in (torch.float32, torch.bfloat16):
    best(kind)
print(best(torch.float32) / best(torch.bfloat16))
"""
_ENGINE = """
import os, sys, torch
from pathlib import Path
from regard import load, modelfolder, models
from regard.tokens import TokeniserSettings, train
os.environ["REGARD_CACHE"] = sys.argv[2]
tokenisers = train(["a"], ["b"], TokeniserSettings(kind="utf8"))
table = {"encoder_layers": 1, "decoder_layers": 1, "d_model": 32, "d_ff": 64, "heads": 2, "d_k": 16, "d_v": 16}
table |= {"source_vocabulary": tokenisers.source.size, "target_vocabulary": tokenisers.target.size}
settings = models.read_settings(table, where="a probe")
torch.manual_seed(0)
model = models.build("transformer", settings)
folder = Path(sys.argv[2]) / "model"
modelfolder.save(folder, model, architecture="transformer", settings=settings, tokeniser=tokenisers.files())
load(folder, device="cpu", engine=sys.argv[1]).translate("a sentence")
"""


class Probe(NamedTuple):
    """Something that was tried, and why it does not work, if it does not."""

    name: str
    trouble: str = ""
    told: str = ""  # what it printed

    @property
    def works(self) -> bool:
        """Whether it works."""
        return not self.trouble


def precisions(device: str) -> list[Probe]:
    """A layer's products, forwards and backwards, in each of the number formats that one could compute with."""
    kinds = {"float32": "float32", "bf16": "bfloat16", "fp16": "float16"}
    return _tried({name: (_PRODUCT, device, kind) for name, kind in kinds.items()})


def bf16_beside_float32() -> Probe:
    """A product in bf16 on the processor; it tells how many times as fast it is as one in float32."""
    return _tried({"bf16": (_BESIDE_FLOAT32,)})[0]


def remembered_bf16() -> Probe:
    """The same, tried once for each processor and version of the libraries, and then remembered in the cache."""
    known = trials.recalled(_KEY)
    if known and {"trouble", "told"} <= known.keys():
        return Probe("bf16", str(known["trouble"]), str(known["told"]))
    probe = bf16_beside_float32()
    if probe.trouble != _TOO_LONG:  # a busy machine is not the processor's fault
        trials.note(_KEY, {"trouble": probe.trouble, "told": probe.told})
    return probe


def engines(names: list[str]) -> list[Probe]:
    """A sentence translated by a tiny model with each engine, on the processor."""
    with tempfile.TemporaryDirectory() as folder:
        return _tried({name: (_ENGINE, name, os.path.join(folder, name)) for name in names})  # noqa: PTH118


def _tried(programs: Mapping[str, tuple[str, ...]]) -> list[Probe]:
    """All at once, each in a process of its own."""
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    running = {
        name: subprocess.Popen(  # noqa: S603
            [sys.executable, "-c", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
        for name, arguments in programs.items()
    }
    return [_ended(name, process) for name, process in running.items()]


def _ended(name: str, process: subprocess.Popen[str]) -> Probe:
    try:
        printed, complaint = process.communicate(timeout=_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return Probe(name, _TOO_LONG)
    return Probe(name, _trouble(process, complaint), printed.strip())


def _trouble(process: subprocess.Popen[str], told: str) -> str:
    """Why the process failed, in a few words; nothing, if it did not."""
    if process.returncode == 0:
        return ""
    if process.returncode < 0:
        return f"it kills the process ({signal.Signals(-process.returncode).name})"
    lines = [line for line in told.strip().splitlines() if line.strip()]
    first = next((line for line in reversed(lines) if not line.startswith(" ")), f"status {process.returncode}")
    return first.partition(": ")[2].strip().rstrip(".") or first
