"""Kernels of our own for GPUs, one file each, where a measurement asked for them. They need Triton.

Whoever uses one has a plain way beside it, and asks `trusted` first: a kernel is tried on this machine before it is
used, and where it does not compile or does not agree, the plain way goes on. Kernels for training are operations of
PyTorch with a gradient, so that compiled code can call them; there, `works` asks, and `introduce` comes before it.
"""

from __future__ import annotations

import warnings
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

_OPERATIONS = {  # for training, by file; most have another for their gradient
    "row_attention": "row_attention",
    "relu": "relu_product",
    "residual": "residual_norm",
    "loss": "smoothed_cross_entropy",
    "projected_loss": "projected_cross_entropy",
}


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


def works(name: str) -> bool:
    """The same question where code may be compiled: the operations of this file can be called as `torch.ops.regard`."""
    return trusted(name) is not None


# While PyTorch compiles, it asks this once and keeps the answer, instead of looking into it. That is all that
# torch.compiler.assume_constant_result does, but naming it would import the whole compiler.
works.__dict__["_dynamo_marked_constant"] = True


def introduce() -> dict[str, Any]:
    """Makes the operations for training known to PyTorch's compiler; the options to compile with."""
    operations = [operation for file, operation in _OPERATIONS.items() if works(file)]
    if not operations:
        return {}
    from regard.kernels import compiling

    compiling.introduce([way for name in operations for way in (name, f"{name}_backward")])
    return {"post_grad_custom_pre_pass": compiling.SumsInKernels()} if works("residual") else {}
