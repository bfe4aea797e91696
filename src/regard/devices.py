"""Which device computes: what its name means, and whether it is there."""

from __future__ import annotations

import re

import torch

from regard.errors import SettingsError


def device_for(name: str | None) -> torch.device:
    """The device of this name, `cpu`, `cuda` or `cuda:1`; a GPU if there is one, where no name is given."""
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
