"""Kernels of our own for GPUs, one file each, where a measurement asked for them. They need Triton.

Callers have a plain alternative and ask `trusted` first: a kernel is tried on this machine before it is used. If it
does not compile or its numbers differ, the plain alternative runs. Kernels for training are PyTorch operations with a
gradient, so that compiled code can call them; there, `works` asks the same question, after `introduce`.
"""

from __future__ import annotations

import warnings
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

_OPERATIONS = {  # for training, by file
    "row_attention": ("row_attention", "row_attention_backward"),
    "long_rows": ("long_row_attention", "long_row_attention_backward"),
    "turning": ("turned",),
    "relu": ("relu_product", "relu_product_backward"),
    "residual": ("residual_norm", "residual_norm_backward"),
    "loss": ("smoothed_cross_entropy", "smoothed_cross_entropy_backward"),
    "projected_loss": ("projected_cross_entropy",),
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
        why = "its results differ from PyTorch's"
    except Exception as error:  # noqa: BLE001  whatever a compiler or a driver may say
        why = f"{type(error).__name__}: {error}"
    warnings.warn(
        f"The kernel {name!r} does not work on this machine, so Regard uses a slower one: {why}", stacklevel=2
    )
    return None


def works(name: str) -> bool:
    """The same question where code may be compiled: the operations of this file can be called as `torch.ops.regard`."""
    return trusted(name) is not None


# While PyTorch compiles, it asks this once and keeps the answer, instead of looking into it. That is all that
# torch.compiler.assume_constant_result does, but naming it would import the whole compiler.
works.__dict__["_dynamo_marked_constant"] = True


def introduce() -> dict[str, Any]:
    """Makes the operations for training known to PyTorch's compiler; the options to compile with."""
    operations = [name for file, names in _OPERATIONS.items() if works(file) for name in names]
    if not operations:
        return {}
    from regard.kernels import compiling

    compiling.introduce(operations)
    return {"post_grad_custom_pre_pass": compiling.SumsInKernels()} if works("residual") else {}
