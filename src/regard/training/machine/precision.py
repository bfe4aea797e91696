"""With which numbers a device computes, and why: float32 on CPUs, bf16 on GPUs that have it, scaled fp16 on others.

A CPU computes in bf16 where that is asked for, and a process that tries it survives. `--preset auto` asks for it where
products are then much faster.
"""

from __future__ import annotations

import math
from contextlib import AbstractContextManager, nullcontext
from importlib.util import find_spec
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.func import functional_call

from regard.errors import SettingsError
from regard.training.machine import probes

_MUCH_WORK = 2e15  # operations: about a minute on a GPU, if they are not compiled; compiling takes as long


class Precision(NamedTuple):
    """What matrix products are computed in; weights and their updates stay in float32."""

    name: str
    dtype: torch.dtype | None  # None: float32 throughout
    why: str
    whole: bool = True  # in bf16, the whole model; else PyTorch decides for each operation (autocast)

    def around(self, module: nn.Module) -> nn.Module:
        """The module in this precision, with the weights that it has."""
        return Rounded(module, self.dtype) if self.dtype and self._rounds else module

    @property
    def _rounds(self) -> bool:
        return self.whole and self.dtype == torch.bfloat16

    def cast(self, device: torch.device) -> AbstractContextManager[Any]:
        """The context in which the model runs."""
        if self.name == "tf32":
            torch.set_float32_matmul_precision("high")  # for the whole process: nothing else is computed in it
        if self.dtype is None or self._rounds:
            return nullcontext()
        return torch.autocast(device.type, dtype=self.dtype)


class Rounded(nn.Module):
    """A module that computes with its weights rounded; they themselves and their gradients stay as they are.

    Autocast would leave normalisations, and with them all that goes along the residuals, in float32: on a GPU, moving
    these is a good part of a step.
    """

    def __init__(self, inner: nn.Module, dtype: torch.dtype) -> None:
        super().__init__()
        self.inner, self.dtype = inner, dtype

    def forward(self, *given: Any) -> Any:
        """What the inner module gives."""
        rounded = {name: weight.to(self.dtype) for name, weight in self.inner.named_parameters()}
        return functional_call(self.inner, rounded, given, tie_weights=False)  # what is shared is a whole module


def precision_for(device: torch.device, wanted: str) -> Precision:
    """The precision that was asked for, or the one that fits the device."""
    if device.type == "cpu":
        return _on_a_cpu(wanted)
    bf16 = torch.cuda.is_bf16_supported(including_emulation=False)
    if wanted == "bf16" and not bf16:
        raise SettingsError(
            "precision = 'bf16': this GPU does not support bf16.\n  Leave it at 'auto', which chooses fp16 here."
        )
    dtypes = {"bf16": torch.bfloat16, "fp16": torch.float16}
    if wanted != "auto":
        return Precision(wanted, dtypes.get(wanted), "as set")
    if bf16:
        return Precision("bf16", dtypes["bf16"], "this GPU supports bf16, which has the range of float32")
    return Precision("fp16", dtypes["fp16"], "this GPU does not support bf16, so the loss is scaled for fp16")


def _on_a_cpu(wanted: str) -> Precision:
    if wanted in ("auto", "float32"):
        return Precision("float32", None, "the default on CPUs")
    if wanted != "bf16":
        raise SettingsError(f"precision = {wanted!r}: a CPU trains in float32 or bf16.\n  Leave it at 'auto'.")
    probe = probes.remembered_bf16()
    if not probe.works:
        raise SettingsError(
            f"precision = 'bf16': matrix products in bf16 fail on this CPU: {probe.trouble}.\n"
            "  Leave it at 'auto', which chooses float32, or try again with ONEDNN_MAX_CPU_ISA=AVX512_CORE_BF16 set: "
            "some CPUs report instructions that they cannot run."
        )
    return Precision("bf16", torch.bfloat16, f"matrix products are {float(probe.told):.1f} times as fast as in float32")


def advised(device: torch.device) -> tuple[str, str]:
    """The precision that `--preset auto` asks for, and the reason; no reason where it is the device's own choice."""
    probe = probes.remembered_bf16() if device.type == "cpu" else None
    if probe is None or not probe.works or float(probe.told) < probes.WORTHWHILE:
        return "auto", ""
    faster = "computing in bf16 instead of float32, because this CPU is much faster in it"
    return "bf16", f"{faster}; --set training.precision=float32 restores float32"


def worth_compiling(device: torch.device, wanted: str, *, work: float = math.inf) -> bool:
    """Whether the step is compiled: on GPUs, where Triton is there, and for a training of more than some minutes."""
    possible = device.type == "cuda" and find_spec("triton") is not None
    return wanted == "yes" or (wanted == "auto" and possible and work > _MUCH_WORK)
