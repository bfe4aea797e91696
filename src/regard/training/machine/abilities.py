"""The machine: what it has, what training does because of it, and what could be mended. `regard doctor` prints it."""

from __future__ import annotations

import os
import platform
import shutil
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import NamedTuple

import torch

from regard import modelfolder, shipped
from regard.caches import cache_folder
from regard.devices import device_for
from regard.errors import RegardError
from regard.training.machine import probes
from regard.training.machine.precision import precision_for, worth_compiling
from regard.translation.engines import engines

_LIBRARIES = ("numpy", "sentencepiece", "safetensors", "sacrebleu", "lxml", "babel")
_OPTIONAL = {  # what is missing without it, and the extra that brings it
    "ctranslate2": ("the fastest translation on CPUs", "fast"),
    "matplotlib": ("attention figures as PNG", "plots"),
    "tensorboard": ("curves in TensorBoard", "tensorboard"),
}
_LITTLE_ROOM = 5 * 2**30  # bytes


class Part(NamedTuple):
    """One thing about the machine; `mend` says what to do where something is missing."""

    name: str
    found: str
    follows: str = ""
    mend: str = ""


def examine() -> list[Part]:
    """Everything that training and translating depend on. It takes some seconds, since things are tried."""
    return [*_hardware(), *_precisions(), *_engines(), *_versions(), *_shipped(), *_places()]


def _hardware() -> list[Part]:
    device = device_for(None)
    precision = precision_for(device, "auto")
    compiled = worth_compiling(device, "auto")
    return [
        Part("Python", platform.python_version(), f"on {platform.system()}, {platform.machine()}"),
        Part("processor", f"{os.cpu_count()} cores", f"PyTorch uses {torch.get_num_threads()} threads"),
        *_gpus(),
        Part("training", f"on {device}", "the best available device; --device chooses another"),
        Part("precision", precision.name, precision.why),
        Part("compilation", "yes" if compiled else "no", "on GPUs with Triton" if compiled else _why_not(device)),
    ]


def _gpus() -> list[Part]:
    if not torch.cuda.is_available():
        if torch.version.cuda is None:
            mend = "If this machine has a GPU, install a PyTorch build for it: https://pytorch.org/get-started"
            return [Part("GPU", "none", "this PyTorch build supports CPUs only; train small models", mend)]
        return [
            Part(
                "GPU",
                "none",
                "train small models only",
                "If this machine has a GPU, install its driver: nvidia-smi must list it.",
            )
        ]
    found = []
    for number in range(torch.cuda.device_count()):
        properties = torch.cuda.get_device_properties(number)
        memory = f"{properties.total_memory / 2**30:.0f} GiB"
        several = "" if number == 0 else "; train on all of them with torchrun"
        found.append(Part(f"GPU {number}", properties.name, f"{memory} of memory{several}"))
    return found


def _precisions() -> list[Part]:
    """Products in each number format, tried."""
    parts = []
    for device in ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]:
        tried = probes.precisions(device)
        working = ", ".join(probe.name for probe in tried if probe.works) or "none"
        parts.append(Part(f"works on {device}", working, "tested, each in its own process"))
        parts += [_broken_precision(device, probe) for probe in tried if not probe.works]
    return [*parts, *_bf16_on_a_cpu()]


def _bf16_on_a_cpu() -> list[Part]:
    """Whether training gains by it."""
    probe = probes.bf16_beside_float32()
    if not probe.works:
        return []
    times = float(probe.told)
    gains = times >= probes.WORTHWHILE
    follows = (
        "so --preset auto trains translators in bf16 on a CPU; elsewhere: --set training.precision=bf16"
        if gains
        else "so Regard uses float32"
    )
    return [Part("bf16 on cpu", f"{times:.1f} times as fast as float32", follows)]


def _broken_precision(device: str, probe: probes.Probe) -> Part:
    if device == "cpu" and probe.name != "float32":
        mend = "You can ignore this: on this CPU Regard uses float32 unless you set another precision."
    elif probe.name == "float32":
        mend = "PyTorch does not work on this machine. Install it again."
    else:
        mend = "Leave training.precision at 'auto', which chooses another."
    return Part(f"{probe.name} on {device}", "does not work", probe.trouble, mend)


def _engines() -> list[Part]:
    """Every engine, tried with a tiny model."""
    parts = []
    names = [name for name in engines() if torch.cuda.is_available() or name != "torch-float32"]  # `torch` on a CPU
    for probe in probes.engines(names):
        mend = ""
        if not probe.works:
            missing = probe.name.startswith("ctranslate2") and find_spec("ctranslate2") is None
            mend = "pip install 'regard[fast]'" if missing else "Translate with --engine torch."
        told = "tested" if probe.works else probe.trouble
        parts.append(Part(f"engine {probe.name}", "works" if probe.works else "does not work", told, mend))
    return parts


def _versions() -> list[Part]:
    parts = [Part("libraries", ", ".join(f"{name} {_version(name)}" for name in _LIBRARIES))]
    for name, (what, extra) in _OPTIONAL.items():
        found = _version(name)
        mend = "" if found else f"pip install 'regard[{extra}]'"
        parts.append(Part(name, found or "not installed", what, mend))
    return parts


def _version(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:
        return ""


def _shipped() -> list[Part]:
    """The models in the box, read whole and checked, with the hash of their weights."""
    parts = []
    for name in shipped.names():
        try:
            description = modelfolder.load(shipped.PLACE / name).description
        except RegardError as error:
            parts.append(Part(f"model {name}", "damaged", str(error).splitlines()[0], "Install Regard again."))
            continue
        stored = description.files[modelfolder.WEIGHTS]
        size = sum(file.bytes for file in description.files.values()) / 1e6
        parts.append(Part(f"model {name}", f"{size:.1f} MB", f"weights sha256 {stored.sha256}"))
    return parts


def _places() -> list[Part]:
    """Where things are kept, and whether there is room."""
    folder = cache_folder()
    there = next(place for place in (folder.absolute(), *folder.absolute().parents) if place.exists())
    free = shutil.disk_usage(there).free
    writable = os.access(there, os.W_OK)
    mend = ""
    if not writable:
        mend = f"Regard cannot write to {there}. Set REGARD_CACHE to another folder."
    elif free < _LITTLE_ROOM:
        mend = "There is little free space. Set REGARD_CACHE to a folder on a larger disk."
    return [
        Part(
            "stored corpora", str(folder), f"{free / 2**30:.0f} GiB free; set REGARD_CACHE to use another folder", mend
        )
    ]


def _why_not(device: torch.device) -> str:
    if device.type == "cpu":
        return "on a CPU, compiling takes longer than it saves; --set training.compile=yes forces it"
    return "Triton is not installed" if find_spec("triton") is None else ""
