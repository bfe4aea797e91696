"""Which device computes: what its name means, and whether it is there."""

from __future__ import annotations

import ctypes
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from regard.errors import SettingsError

if TYPE_CHECKING:
    import torch

_DRIVER = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
_AMD = Path("/dev/kfd")


@dataclass(frozen=True)
class Device:
    """A device by its name, as PyTorch writes it; knowing it needs no PyTorch."""

    type: str
    index: int | None = None

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"


def named_device(name: str | None) -> Device:
    """The same as `device_for`. PyTorch is loaded only where a GPU may be meant."""
    if name == "cpu" or (name is None and not _may_have_a_gpu()):
        return Device("cpu")
    found = device_for(name)
    return Device(found.type, found.index)


def device_for(name: str | None) -> torch.device:
    """The device of this name, `cpu`, `cuda` or `cuda:1`; a GPU if there is one, where no name is given."""
    import torch

    if name is None:
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if not re.fullmatch(r"cpu|cuda(:(0|[1-9]\d{0,3}))?", name):
        raise SettingsError(
            f"device = {name!r}: there is no such device.\n  Use cpu, cuda, or cuda:1 for the second GPU."
        )
    device = torch.device(name)
    if device.type == "cuda":
        if not torch.cuda.is_available():
            raise SettingsError(
                f"device = {name!r}: PyTorch finds no GPU on this machine.\n"
                "  Use cpu, or leave the device out. `regard doctor` shows what this machine can do."
            )
        count = torch.cuda.device_count()
        if (device.index or 0) >= count:
            raise SettingsError(
                f"device = {name!r}: this machine has the GPUs cuda:0 to cuda:{count - 1}.\n  Choose one of them."
            )
    return device


def _may_have_a_gpu() -> bool:
    """False only where PyTorch cannot find one: it needs the library of NVIDIA's driver, or AMD's device file."""
    if "torch" in sys.modules or _AMD.exists():
        return True
    try:
        ctypes.CDLL(_DRIVER)
    except OSError:
        return False
    return True
