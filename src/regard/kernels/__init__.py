"""Kernels of our own for GPUs, one file each, where a measurement asked for them. They need Triton.

Whoever uses one has a plain way beside it, and asks `trusted` first: a kernel is tried on this machine before it is
used, and where it does not compile or does not agree, the plain way goes on.
"""

from __future__ import annotations

import warnings
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType


@cache
def trusted(name: str) -> ModuleType | None:
    """The file of this name, if its kernel works here and gives what PyTorch gives; else None."""
    if find_spec("triton") is None:
        return None
    try:
        module = import_module(f"{__name__}.{name}")
        if module.agrees():
            return module
        why = "its numbers are not PyTorch's"
    except Exception as error:  # noqa: BLE001  whatever a compiler or a driver may say
        why = f"{type(error).__name__}: {error}"
    warnings.warn(f"The kernel {name!r} is not used on this machine, but a slower way: {why}", stacklevel=2)
    return None
