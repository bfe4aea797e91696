"""With which numbers a device computes, and why: float32 on CPUs, bf16 on GPUs that have it, scaled fp16 on others.

A CPU computes in bf16 where that is asked for, and a process that tries it survives. `--preset auto` asks for it where
products are then much faster.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from importlib.util import find_spec
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
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

    def around(self, module: nn.Module, *, at_once: bool = True) -> nn.Module:
        """The module in this precision, with the weights that it has."""
        return Rounded(module, self.dtype, at_once=at_once) if self.dtype and self._rounds else module

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

    `at_once` converts all weights together, and their gradients when the last of them is there. Otherwise each gradient
    is given as soon as it is known, for other processes to add theirs meanwhile.
    """

    def __init__(self, inner: nn.Module, dtype: torch.dtype, *, at_once: bool = True) -> None:
        super().__init__()
        self.inner, self.dtype, self.at_once = inner, dtype, at_once

    def forward(self, *given: Any) -> Any:
        """What the inner module gives."""
        names, weights = zip(*self.inner.named_parameters(), strict=True)
        rounded = dict(zip(names, self._rounded(weights), strict=True))
        return functional_call(self.inner, rounded, given, tie_weights=False)  # what is shared is a whole module

    def _rounded(self, weights: Sequence[Tensor]) -> Sequence[Tensor]:
        """All weights rounded; compiled code does this where it reads them."""
        if torch.compiler.is_compiling() or not self.at_once:
            return [weight.to(self.dtype) for weight in weights]
        rounded: Sequence[Tensor] = _AllAtOnce.apply(self.dtype, *weights)  # type: ignore[no-untyped-call]
        return rounded


class _AllAtOnce(torch.autograd.Function):
    """Conversions of many tensors: on a GPU a few kernels, where a small model has hundreds of weights."""

    @staticmethod
    def forward(ctx: Any, dtype: torch.dtype, *tensors: Tensor) -> tuple[Tensor, ...]:
        ctx.dtypes = [tensor.dtype for tensor in tensors]
        ctx.set_materialize_grads(False)  # a weight that was not used has no gradient
        return _converted(tensors, [dtype] * len(tensors))

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        pairs = zip(gradients, ctx.dtypes, strict=True)
        given = [(gradient, dtype) for gradient, dtype in pairs if gradient is not None]
        converted = iter(_converted(*zip(*given, strict=True)) if given else ())
        return None, *(None if gradient is None else next(converted) for gradient in gradients)


def _converted(tensors: Sequence[Tensor], dtypes: Sequence[torch.dtype]) -> tuple[Tensor, ...]:
    new = [torch.empty_like(tensor, dtype=dtype) for tensor, dtype in zip(tensors, dtypes, strict=True)]
    torch._foreach_copy_(new, list(tensors))
    return tuple(new)


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
