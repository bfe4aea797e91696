"""The kernels of a decoder that stays in place, by themselves and in models, against the plain way."""

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from kernel_inputs import DEVICE, HALF, needs_a_place, needs_triton, residual
from regard.models import fast
from regard.models.fast import gpu, in_place
from regard.models.fast.in_place import InPlaceState
from regard.models.fast.joining import Joined
from regard.translation.engines.torch import rounded
from small import BEGIN, VOCABULARY, padded, transformer


def seen_by(hypotheses: int, columns: Tensor, capacity: int) -> Tensor:
    """[N, W, C, W] what hypotheses have seen that went on from each other at random; they begin as one."""
    draw = torch.Generator().manual_seed(0)
    seen = torch.zeros(len(columns), hypotheses, capacity, hypotheses, dtype=torch.bool)
    for sentence, column in enumerate(columns.tolist()):
        for place in range(column + 1):
            seen[sentence, :, place] = torch.eye(hypotheses, dtype=torch.bool)
            if place < column:
                parents = torch.randint(hypotheses, (hypotheses,), generator=draw)
                seen[sentence] = seen[sentence, parents]
    return seen.to(DEVICE)


@needs_triton
@needs_a_place
@pytest.mark.parametrize(("heads", "hypotheses", "width"), [(2, 4, 64), (3, 5, 16), (1, 1, 32), (2, 16, 16)])
def test_attention_that_writes_its_keys_is_that_of_torch(heads: int, hypotheses: int, width: int) -> None:
    from regard.kernels.cache_attention import _plainly, attend, listed

    torch.manual_seed(0)
    columns = torch.tensor([0, 3, 47, 20], device=DEVICE)
    seen = seen_by(hypotheses, columns, 48)
    joined = torch.randn(4, hypotheses, 3 * heads * width, device=DEVICE)
    caches = torch.randn(2, 4, heads, 48, hypotheses, width, device=DEVICE)
    expected, written = _plainly(joined, caches, seen, columns)
    torch.testing.assert_close(attend(joined, *caches, listed(seen, columns)), expected, rtol=0, atol=1e-5)
    assert torch.equal(caches, written)


@needs_triton
@needs_a_place
def test_attention_that_writes_its_keys_reads_no_key_that_no_hypothesis_looks_at() -> None:
    from regard.kernels.cache_attention import attend, listed

    torch.manual_seed(0)
    columns = torch.tensor([30, 7], device=DEVICE)
    seen = seen_by(4, columns, 32)
    joined = torch.randn(2, 4, 3 * 2 * 16, device=DEVICE)
    caches = torch.randn(2, 2, 2, 32, 4, 16, device=DEVICE)
    found = attend(joined, *caches.clone(), listed(seen, columns))
    hidden = ~seen.any(1) | (torch.arange(32, device=DEVICE) >= columns[:, None])[..., None]
    caches.masked_fill_(hidden[None, :, None, :, :, None], torch.nan)
    assert torch.equal(attend(joined, *caches.clone(), listed(seen, columns)), found)
    swapped = attend(joined.flip(0), *caches.flip(1), listed(seen.flip(0), columns.flip(0)))
    assert torch.equal(swapped.flip(0), found)


@needs_triton
@needs_a_place
@pytest.mark.parametrize(("width", "count"), [(128, 37), (512, 64), (520, 9), (1024, 5)])
def test_a_sum_is_normalised_in_one_kernel_as_in_two(width: int, count: int) -> None:
    from regard.kernels.residual import norm_of_sum

    x, y, weight, bias, _ = (tensor.detach() for tensor in residual(width, HALF, count))
    expected = F.layer_norm(x + y, (width,), weight, bias, 1e-5)
    torch.testing.assert_close(norm_of_sum(x, y, weight, bias, 1e-5), expected, rtol=1e-2, atol=1e-2)


def test_joined_weights_are_those_of_now_in_the_same_place() -> None:
    maps = [torch.nn.Linear(6, width, bias=bias) for width, bias in ((4, True), (3, True), (4, True))]
    joined, x = Joined(), torch.randn(2, 5, 6)
    with torch.no_grad():
        first = joined.product(x, maps)
        place = joined._weight
        for linear in maps:
            linear.weight.mul_(2)
        again = joined.product(x, maps)
        expected = torch.cat([linear(x) for linear in maps], -1)
    assert joined._weight is place
    assert not torch.equal(first, again)
    torch.testing.assert_close(again, expected)


def steps(model: Any, *, width: int, kernels: bool, monkeypatch: pytest.MonkeyPatch) -> list[Tensor]:
    """The logits of some steps in place, hypotheses going on from each other, a sentence taking another's place."""
    monkeypatch.setattr(gpu, "_decodes_on_a_gpu", lambda _: kernels)
    draw = torch.Generator().manual_seed(1)
    sources = padded([([5, 6, 7, 8], []), ([9] * 11, []), ([3, 4], [])]).to(DEVICE).streams["source"]
    found = []
    with torch.no_grad():
        state = in_place(model.start(model.encode(sources), width=width), 16)
        assert isinstance(state, InPlaceState)
        for number in range(10):
            tokens = torch.randint(2, VOCABULARY, (3 * width,), generator=draw).to(DEVICE)
            logits, state = model.step(tokens if number else tokens.fill_(BEGIN), state)
            found.append(logits.float())
            rows = torch.randint(width, (3, width), generator=draw) + width * torch.arange(3)[:, None]
            state.reorder(rows.flatten().to(DEVICE))
            if number == 4:
                newcomer = padded([([8, 8, 3], [])]).to(DEVICE).streams["source"]
                state.put(torch.tensor([1], device=DEVICE), model.start(model.encode(newcomer), width=width))
    return found


@needs_triton
@needs_a_place
@pytest.mark.parametrize(("width", "dtype"), [(1, HALF), (4, torch.float32), (4, HALF)])
@pytest.mark.parametrize(
    "choices",
    [
        {},
        {"norm": "pre", "attention_bias": True},
        {"positions": "learned", "activation": "gelu"},
        {"positions": "rotary"},
        {"d_k": 16, "d_v": 32},
        {"positions": "halves", "start": "token"},
    ],
)
def test_steps_in_place_by_kernels_are_those_of_the_plain_way(
    width: int, choices: dict[str, Any], dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: dict[str, Any] = {"d_model": 128, "heads": 4, "encoder_layers": 1} | choices
    plain = transformer(dtype=torch.float32, **sizes).to(DEVICE)
    quick = rounded(fast._with(plain, gpu.FORMS), dtype)
    expected = steps(plain, width=width, kernels=False, monkeypatch=monkeypatch)
    found = steps(quick, width=width, kernels=True, monkeypatch=monkeypatch)
    error = 1e-4 if dtype == torch.float32 else 0.1
    for ours, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=error, atol=error)
