"""What kernels ask the machine that they run on, which may be a processor with Triton's interpreter."""

from __future__ import annotations

from functools import cache

import torch

_PROGRAMS = 3  # at once, where there is no GPU: more than one, so that their sharing is tried too


def tried_on() -> tuple[torch.device, torch.dtype]:
    """Where kernels are tried, and in which half of float32: Triton's interpreter has no bf16."""
    if torch.cuda.is_available():
        return torch.device("cuda"), torch.bfloat16
    return torch.device("cpu"), torch.float16


@cache
def multiprocessors(device: torch.device) -> int:
    """How many parts of the device work at once."""
    return torch.cuda.get_device_properties(device).multi_processor_count if device.type == "cuda" else _PROGRAMS
