"""Dropout (section 5.4) on a CPU, where drawing random numbers is most of the work.

One random number of 64 bits decides about four values, 16 bits each: a rate of 0.1 is 6554 of 65536, or 0.100006.
NumPy draws them in half of PyTorch's time, seeded by PyTorch's generator.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

_LEVELS = 1 << 16


class QuickDropout(nn.Dropout):
    """Sets a share p of all values to zero while training, and scales the others up, so that the mean stays."""

    def forward(self, x: Tensor) -> Tensor:
        """The same shape."""
        if not self.training or not self.p:
            return x
        if x.device.type != "cpu":
            return super().forward(x)
        kept: Tensor = _Drop.apply(x, round(self.p * _LEVELS))  # type: ignore[no-untyped-call]
        return kept


class _Drop(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, dropped: int) -> Tensor:
        count = x.numel()
        draw = np.random.SFC64(int(torch.randint(2**62, ())))
        numbers = torch.from_numpy(draw.random_raw((count + 3) // 4).view(np.int16))
        levels = numbers[:count].view(x.shape)
        scale = torch.ge(levels, dropped - _LEVELS // 2, out=torch.empty_like(x)).mul_(_LEVELS / (_LEVELS - dropped))
        ctx.save_for_backward(scale)
        return x * scale

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        (scale,) = ctx.saved_tensors
        return gradients[0] * scale, None
