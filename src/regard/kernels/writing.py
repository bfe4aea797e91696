"""Writes what each sentence has to say into its own column of a cache of keys and of one of values.

PyTorch's indexing computes the place of each number on its own, and took several times as long as the memory needs.
Here a program of the GPU copies the keys or the values of one sentence, many numbers at a time.

Shapes: N sentences, H heads, C columns, W hypotheses of each sentence, K width of a key and of a value.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from regard.kernels.multiprocessors import tried_on


@triton.jit  # type: ignore[untyped-decorator]
def _write(  # type: ignore[no-untyped-def]
    keys, values, key, value, columns, rows, hypotheses,
    keys_0, keys_1, keys_2, keys_3, key_0, key_1, key_2, value_0, value_1, value_2,
    rows_2: tl.constexpr, width: tl.constexpr,
):  # fmt: skip
    sentence = tl.program_id(0).to(tl.int64)
    row, lane = tl.arange(0, rows_2)[:, None], tl.arange(0, width)[None, :]
    head, hypothesis, real = row // hypotheses, row % hypotheses, row < rows
    there = sentence * keys_0 + tl.load(columns + sentence) * keys_2 + head * keys_1 + hypothesis * keys_3 + lane
    if tl.program_id(1) == 0:
        said = tl.load(key + sentence * key_0 + head * key_1 + hypothesis * key_2 + lane, mask=real)
        tl.store(keys + there, said, mask=real)
    else:
        said = tl.load(value + sentence * value_0 + head * value_1 + hypothesis * value_2 + lane, mask=real)
        tl.store(values + there, said, mask=real)


def write(keys: Tensor, values: Tensor, key: Tensor, value: Tensor, columns: Tensor) -> None:
    """[N, H, W, K] twice go into the caches [N, H, C, W, K], each sentence's into the column that [N] says."""
    sentences, heads, hypotheses, width = key.shape
    assert keys.stride() == values.stride()
    kernel: Any = _write
    kernel[(sentences, 2)](
        keys, values, key, value, columns, heads * hypotheses, hypotheses,
        *keys.stride()[:4], *key.stride()[:3], *value.stride()[:3],
        rows_2=triton.next_power_of_2(heads * hypotheses), width=width, num_warps=4,
    )  # fmt: skip


def agrees() -> bool:
    """Whether it writes what PyTorch writes, and nothing else."""
    device, _ = tried_on()
    key, value = torch.arange(2 * 5 * 3 * 2 * 16.0, device=device).view(2, 5, 3, 2, 16).transpose(2, 3)
    caches, columns = torch.zeros(2, 5, 2, 7, 3, 16, device=device), torch.tensor([0, 6, 3, 2, 5], device=device)
    expected = caches.clone()
    for cache, new in zip(expected, (key, value), strict=True):
        cache[torch.arange(5, device=device), :, columns] = new
    write(caches[0], caches[1], key, value, columns)
    return torch.equal(caches, expected)
