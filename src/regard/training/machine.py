"""The machine: what it has, and what training does because of it. `regard doctor` prints it; training decides by it."""

from __future__ import annotations

import os
import platform
import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import torch

from regard.caches import cache_folder
from regard.training.precision import device_for, precision_for, worth_compiling


class Part(NamedTuple):
    """One thing about the machine."""

    name: str
    found: str
    follows: str


def examine() -> list[Part]:
    """Everything that training depends on."""
    device = device_for(None)
    precision = precision_for(device, "auto")
    compiled = worth_compiling(device, "auto")
    return [
        Part("Python", platform.python_version(), f"on {platform.system()}, {platform.machine()}"),
        Part("processor", f"{os.cpu_count()} cores", f"PyTorch uses {torch.get_num_threads()} threads"),
        *_gpus(),
        Part("training", f"on {device}", "the best device that is there; --device chooses another"),
        Part("precision", precision.name, precision.why),
        Part("compilation", "yes" if compiled else "no", "on GPUs with Triton" if compiled else _why_not(device)),
        Part("stored corpora", str(cache_folder()), f"{_free(cache_folder())} free; REGARD_CACHE is another place"),
    ]


def _gpus() -> list[Part]:
    if not torch.cuda.is_available():
        built = "this PyTorch is built for CPUs" if torch.version.cuda is None else "no driver, or no GPU"
        return [Part("GPU", "none", f"{built}: small models only")]
    found = []
    for number in range(torch.cuda.device_count()):
        properties = torch.cuda.get_device_properties(number)
        memory = f"{properties.total_memory / 2**30:.0f} GiB"
        several = "" if number == 0 else "; train on all of them with torchrun"
        found.append(Part(f"GPU {number}", properties.name, f"{memory} of memory{several}"))
    return found


def _why_not(device: torch.device) -> str:
    if device.type == "cpu":
        return "on a CPU, starting would take longer than it saves; --set training.compile=yes asks for it"
    return "Triton is not installed" if find_spec("triton") is None else ""


def _free(folder: Path) -> str:
    there = next(place for place in (folder.absolute(), *folder.absolute().parents) if place.exists())
    return f"{shutil.disk_usage(there).free / 2**30:.0f} GiB"
