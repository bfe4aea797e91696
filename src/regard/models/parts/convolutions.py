"""Convolutions along a sentence: over whole sentences, or word by word over a window of what came before.

ConvS2S (convs2s.py) and ByteNet (bytenet.py) are made of them. Every row holds one sentence: neighbours in a row would
be seen by each other's kernels. Beyond the ends of a sentence, kernels see zeros.

Shapes: B rows, T positions, I inputs, O outputs, k the kernel's width, R rows that are being decoded.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class Convolution(nn.Module):
    """A kernel of `kernel` words, `dilation` words apart: centred, or backwards from each word.

    `normed` is weight normalisation (Salimans and Kingma, 2016): of each output's weights, the direction and the
    length are learned apart. Weights start with a variance of gain / inputs, so that what comes out has `gain` times
    the variance of what went in.
    """

    def __init__(
        self,
        inputs: int,
        outputs: int,
        *,
        kernel: int = 1,
        dilation: int = 1,
        backwards: bool = False,
        normed: bool = False,
        gain: float = 1.0,
    ) -> None:
        super().__init__()
        self.dilation, reach = dilation, (kernel - 1) * dilation
        self.reach = reach
        self.before = reach if backwards else reach // 2
        self.direction = nn.Parameter(torch.randn(outputs, inputs, kernel) * math.sqrt(gain / (inputs * kernel)))
        self.length = nn.Parameter(self.direction.detach().flatten(1).norm(dim=1)) if normed else None
        self.bias = nn.Parameter(torch.zeros(outputs))

    def weight(self) -> Tensor:
        """[O, I, k]."""
        if self.length is None:
            return self.direction
        return self.direction * (self.length / self.direction.flatten(1).norm(dim=1))[:, None, None]

    def matrix(self) -> Tensor:
        """[O, k * I] the same, for `step`."""
        return self.weight().transpose(1, 2).flatten(1)

    def forward(self, x: Tensor) -> Tensor:
        """[B, T, I], zero where there is no word -> [B, T, O]."""
        if not self.reach:
            return F.linear(x, self.weight()[:, :, 0], self.bias)
        padded = F.pad(x.transpose(1, 2), (self.before, self.reach - self.before))
        return F.conv1d(padded, self.weight(), self.bias, dilation=self.dilation).transpose(1, 2)

    def step(self, x: Tensor, window: Tensor, matrix: Tensor) -> tuple[Tensor, Tensor]:
        """[R, I] the newest word's, [R, (k - 1) * dilation, I] those before it -> [R, O], and the next window."""
        seen = torch.cat([window, x[:, None]], dim=1)
        return F.linear(seen[:, :: self.dilation].flatten(1), matrix, self.bias), seen[:, 1:]

    def empty_window(self, rows: int) -> Tensor:
        """[rows, (k - 1) * dilation, I] zeros: nothing came before."""
        return self.direction.new_zeros(rows, self.reach, self.direction.size(1))


def matrices(decoder: nn.Module) -> dict[str, Tensor]:
    """Every convolution's matrix by its name: what all steps use, computed once."""
    return {name: part.matrix() for name, part in decoder.named_modules() if isinstance(part, Convolution)}
