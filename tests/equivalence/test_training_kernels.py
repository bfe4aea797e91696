"""The kernels that training uses against the plain way: what they give, and all gradients.

They need Triton, and a GPU or Triton's interpreter (TRITON_INTERPRET=1).
"""

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from kernel_inputs import DEVICE, HALF, attend, mask, needs_a_place, needs_triton, relu, residual, rows, seeded
from regard import kernels
from regard.models.parts.positions import Rotation
from regard.training.loss import smoothed_cross_entropy


def plain_attention(inputs: list[Tensor], allowed: Tensor, heads: int = 2) -> Tensor:
    """In float64, and zeros where nothing is allowed."""
    parts = inputs[0].chunk(3, -1) if len(inputs) == 1 else (inputs[0], *inputs[1].chunk(2, -1))
    query, key, value = (part.double().unflatten(2, (heads, -1)).transpose(1, 2) for part in parts)
    scores = (query @ key.transpose(2, 3) / query.size(3) ** 0.5).masked_fill(~allowed, -torch.inf)
    weights = torch.where(allowed.any(-1, keepdim=True), scores, 0.0).softmax(-1) * allowed.any(-1, keepdim=True)
    return (weights @ value).transpose(1, 2).flatten(2)


@needs_triton
@needs_a_place
@pytest.mark.parametrize("dtype", [torch.float32, HALF])
@pytest.mark.parametrize(
    ("queries", "keys", "width", "kind"),
    [
        (37, 91, 16, "block"),
        (64, 64, 64, "causal"),
        (37, 37, 32, "nothing"),
        (91, 37, 32, "nothing"),
        (5, 20, 128, "keys"),
        (128, 128, 16, "causal"),
    ],
)
def test_attention_over_rows_and_its_gradients_are_those_of_the_plain_way(
    queries: int, keys: int, width: int, kind: str, dtype: torch.dtype
) -> None:
    assert kernels.works("row_attention")
    *inputs, gradient = rows(queries, keys, width, dtype)
    allowed = mask(kind, queries, keys)
    found = attend(inputs, allowed)
    expected = plain_attention(inputs, allowed)
    error = 1e-4 if dtype == torch.float32 else 2e-2
    torch.testing.assert_close(found.double(), expected, rtol=error, atol=error)
    ours = torch.autograd.grad(found, inputs, gradient)
    theirs = torch.autograd.grad(expected, inputs, gradient.double())
    for our, their in zip(ours, theirs, strict=True):
        torch.testing.assert_close(our, their, rtol=error, atol=error)


@needs_triton
@needs_a_place
@pytest.mark.parametrize("dtype", [torch.float32, HALF])
@pytest.mark.parametrize(
    ("queries", "keys", "width", "kind"),
    [
        (37, 91, 16, "block"),
        (300, 300, 32, "causal"),
        (150, 150, 16, "nothing"),
        (150, 70, 64, "nothing"),
        (260, 20, 16, "keys"),
        (256, 256, 64, "whole"),
        (257, 257, 32, "whole"),
        (140, 140, 128, "causal"),
    ],
)
def test_attention_over_long_rows_and_its_gradients_are_those_of_the_plain_way(
    queries: int, keys: int, width: int, kind: str, dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    from regard.kernels import long_rows

    assert kernels.works("long_rows")
    for name in ("FORWARD", "FOR_QUERIES", "FOR_KEYS"):  # several tiles of each, whatever the machine
        monkeypatch.setattr(long_rows, name, getattr(long_rows, name)._replace(own=64, other=32))
    *inputs, gradient = rows(queries, keys, width, dtype)
    allowed = mask(kind, queries, keys)
    found = attend(inputs, allowed, kernel="long_rows")
    expected = plain_attention(inputs, allowed)
    error = 1e-4 if dtype == torch.float32 else 2e-2
    torch.testing.assert_close(found.double(), expected, rtol=error, atol=error)
    ours = torch.autograd.grad(found, inputs, gradient)
    theirs = torch.autograd.grad(expected, inputs, gradient.double())
    for our, their in zip(ours, theirs, strict=True):
        torch.testing.assert_close(our, their, rtol=error, atol=error)


@needs_triton
@needs_a_place
@pytest.mark.parametrize("kernel", ["row_attention", "long_rows"])
def test_a_query_that_may_look_at_nothing_gets_zeros_and_no_gradient(kernel: str) -> None:
    assert kernels.works(kernel)
    *inputs, gradient = rows(8, 8, 16, HALF)
    allowed = torch.zeros(2, 1, 8, 8, dtype=torch.bool, device=DEVICE)
    found = attend(inputs, allowed, kernel=kernel)
    for tensor in (found, *torch.autograd.grad(found, inputs, gradient)):
        assert not tensor.any()


@needs_triton
@needs_a_place
@pytest.mark.parametrize("kernel", ["row_attention", "long_rows"])
@pytest.mark.parametrize("keys", [12, 20])
def test_answers_and_gradients_lie_as_matrix_products_need_them(keys: int, kernel: str) -> None:
    assert kernels.works(kernel)
    *inputs, gradient = rows(12, keys, 16, HALF)
    found = attend(inputs, mask("block", 12, keys), kernel=kernel)
    assert found.shape == gradient.shape
    assert found.is_contiguous()
    for our, given in zip(torch.autograd.grad(found, inputs, gradient), inputs, strict=True):
        assert our.shape == given.shape
        assert our.is_contiguous()


@needs_triton
@needs_a_place
def test_programs_that_last_and_programs_for_each_head_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    from regard.kernels import row_attention

    *inputs, gradient = rows(20, 20, 16, HALF, heads=4)
    found = attend(inputs, mask("causal", 20, 20), heads=4)
    lasting = torch.autograd.grad(found, inputs, gradient, retain_graph=True)
    monkeypatch.setattr(row_attention, "BACKWARD", row_attention.BACKWARD._replace(lasting=0))
    for one, other in zip(lasting, torch.autograd.grad(found, inputs, gradient), strict=True):
        assert torch.equal(one, other)


@needs_triton
@needs_a_place
@pytest.mark.parametrize("dtype", [torch.float32, HALF])
@pytest.mark.parametrize(("count", "width", "turned"), [(37, 16, 4), (64, 64, 2), (5, 128, 6)])
def test_heads_that_are_turned_and_their_gradients_are_those_of_the_plain_way(
    count: int, width: int, turned: int, dtype: torch.dtype
) -> None:
    assert kernels.works("turning")
    torch.manual_seed(0)
    x, gradient = (torch.randn(2, count, 6 * width, device=DEVICE).to(dtype).requires_grad_() for _ in range(2))
    positions = torch.randint(60, (2, count), device=DEVICE)
    rotation = Rotation(width, 100.0)
    found = torch.ops.regard.turned(x, *rotation.angles(positions), turned, False)
    first, rest = x.double().split([turned * width, (6 - turned) * width], dim=-1)
    expected = torch.cat([rotation(first, positions, turned), rest], dim=-1)
    error = 1e-5 if dtype == torch.float32 else 1e-2
    torch.testing.assert_close(found.double(), expected, rtol=error, atol=error)
    (ours,), (theirs,) = (torch.autograd.grad(y, x, gradient.to(y.dtype)) for y in (found, expected))
    torch.testing.assert_close(ours, theirs, rtol=error, atol=error)
    assert found.is_contiguous()


@needs_triton
@needs_a_place
@pytest.mark.parametrize("dtype", [torch.float32, HALF])
@pytest.mark.parametrize("vocabulary", [50, 300, 5000])
@pytest.mark.parametrize("epsilon", [0.0, 0.1])
def test_the_loss_and_its_gradient_are_those_of_the_plain_way(
    vocabulary: int, dtype: torch.dtype, epsilon: float
) -> None:
    assert kernels.works("loss")
    torch.manual_seed(0)
    logits = (3 * torch.randn(7, vocabulary + 3, device=DEVICE)).to(dtype)[:, :vocabulary].requires_grad_()
    labels = torch.randint(vocabulary, (7,), device=DEVICE)
    real = torch.tensor([1, 1, 0, 1, 0, 1, 1], dtype=torch.bool, device=DEVICE)
    weights = torch.rand(7, device=DEVICE)
    smoothed, likelihood, _ = torch.ops.regard.smoothed_cross_entropy(logits, labels, real, epsilon)
    precise = logits.detach().double().requires_grad_()
    expected, expected_likelihood = smoothed_cross_entropy(precise, labels, epsilon)
    torch.testing.assert_close(smoothed.double(), expected * real, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(likelihood.double(), expected_likelihood * real, rtol=1e-5, atol=1e-5)
    (found,) = torch.autograd.grad(smoothed @ weights, logits)
    (wanted,) = torch.autograd.grad((expected * real) @ weights.double(), precise)
    error = {"rtol": 1e-4, "atol": 1e-6} if dtype == torch.float32 else {"rtol": 1e-2, "atol": 1e-4}
    torch.testing.assert_close(found.double(), wanted, **error)
    assert not found[~real].any()


@needs_triton
@needs_a_place
def test_rows_of_padding_are_not_read() -> None:
    assert kernels.works("loss")
    logits = torch.full((2, 50), torch.nan, device=DEVICE).requires_grad_()
    labels, real = torch.zeros(2, dtype=torch.long, device=DEVICE), torch.zeros(2, dtype=torch.bool, device=DEVICE)
    smoothed, likelihood, _ = torch.ops.regard.smoothed_cross_entropy(logits, labels, real, 0.1)
    (gradient,) = torch.autograd.grad(smoothed.sum(), logits)
    assert not smoothed.any()
    assert not likelihood.any()
    assert not gradient.any()


def kept_with(seed: Tensor, count: int, width: int) -> Tensor:
    """[count, width] 1 where a dropout of 0.3 keeps, else 0."""
    ones, zeros = torch.ones(count, width, device=DEVICE), torch.zeros(count, width, device=DEVICE)
    added: Tensor = torch.ops.regard.residual_norm(zeros, ones, ones[0], zeros[0], seed, 0.3, 1e-5)[1]
    return (added != 0).double()


@needs_triton
@needs_a_place
@pytest.mark.parametrize("dtype", [torch.float32, HALF])
@pytest.mark.parametrize("width", [128, 384, 512])
def test_a_residual_and_its_gradients_are_those_of_the_plain_way(width: int, dtype: torch.dtype) -> None:
    assert kernels.works("residual")
    *inputs, gradient = residual(width, dtype)
    found = torch.ops.regard.residual_norm(*inputs, None, 0.3, 1e-5)[0]
    x, y, weight, bias = precise = [tensor.detach().double().requires_grad_() for tensor in inputs]
    expected = F.layer_norm(x + y, (width,), weight, bias, 1e-5)
    error = 1e-5 if dtype == torch.float32 else 2e-2
    torch.testing.assert_close(found.double(), expected, rtol=error, atol=error)
    ours = torch.autograd.grad(found, inputs, gradient)
    theirs = torch.autograd.grad(expected, precise, gradient.double())
    plain = torch.autograd.grad(F.layer_norm(inputs[0] + inputs[1], (width,), *inputs[2:], 1e-5), inputs, gradient)
    for our, their, rounded, given in zip(ours, theirs, plain, inputs, strict=True):
        assert our.dtype == given.dtype
        assert_as_close_as(our, rounded, their, error)


def assert_as_close_as(ours: Tensor, plain: Tensor, exact: Tensor, error: float) -> None:
    """Within the error, or 1.5 times the error of PyTorch in the same precision: sums cancel, roundings do not."""
    missed = (plain.double() - exact).abs().max().item()
    torch.testing.assert_close(ours.double(), exact, rtol=error, atol=max(error, 1.5 * missed))


@needs_triton
@needs_a_place
@pytest.mark.parametrize("dtype", [torch.float32, HALF])
@pytest.mark.parametrize("width", [384, 512])
def test_a_residual_drops_backward_what_it_dropped_forward(width: int, dtype: torch.dtype) -> None:
    assert kernels.works("residual")
    *inputs, gradient = residual(width, dtype)
    found = torch.ops.regard.residual_norm(*inputs, seeded(2**61 + 7), 0.3, 1e-5)[0]
    kept = kept_with(seeded(2**61 + 7), 37, width)
    assert float(kept.mean()) == pytest.approx(0.7, abs=0.02)
    scale = 65536 / (65536 - round(0.3 * 65536))
    x, y, weight, bias = precise = [tensor.detach().double().requires_grad_() for tensor in inputs]
    expected = F.layer_norm(x + y * kept * scale, (width,), weight, bias, 1e-5)
    error = 1e-5 if dtype == torch.float32 else 2e-2
    torch.testing.assert_close(found.double(), expected, rtol=error, atol=error)
    ours = torch.autograd.grad(found, inputs, gradient)
    theirs = torch.autograd.grad(expected, precise, gradient.double())
    assert not ours[1][kept == 0].any()
    dropped = inputs[0] + inputs[1] * (kept * scale).to(dtype)
    plain = torch.autograd.grad(F.layer_norm(dropped, (width,), *inputs[2:], 1e-5), inputs, gradient)
    for our, their, rounded in zip(ours, theirs, plain, strict=True):
        assert_as_close_as(our, rounded, their, error)


@needs_triton
@needs_a_place
def test_what_is_dropped_depends_on_the_seed_and_differs_from_row_to_row() -> None:
    assert kernels.works("residual")
    one, second, third = (kept_with(seeded(number), 64, 512) for number in (1, 2, 1 + 2**32))
    assert torch.equal(one[:5], kept_with(seeded(1), 5, 512))
    for other in (second, third, one.roll(1, 0), one.roll(1, 1), one.roll(8, 1), one.roll(256, 1)):
        assert float((one * other).mean()) == pytest.approx(0.49, abs=0.02)
    assert one.mean(0).min() > 0.4
    assert one.mean(1).min() > 0.6


@needs_triton
@needs_a_place
def test_a_residual_is_the_same_however_it_is_cut_up(monkeypatch: pytest.MonkeyPatch) -> None:
    from regard.kernels import residual as kernel

    *inputs, gradient = residual(128, HALF)
    found = []
    for tiling in (kernel.Tiling(rows=1, warps=1), kernel.Tiling(rows=4, warps=2, lasting=2)):
        monkeypatch.setattr(kernel, "FORWARD", tiling)
        monkeypatch.setattr(kernel, "BACKWARD", tiling)
        out = torch.ops.regard.residual_norm(*inputs, seeded(1), 0.1, 1e-5)[0]
        found.append([out, *torch.autograd.grad(out, inputs, gradient)])
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-2, atol=1e-2)


@needs_triton
@needs_a_place
def test_weights_in_float32_get_gradients_in_float32() -> None:
    assert kernels.works("residual")
    x, y, *_, gradient = residual(128, HALF, count=3)
    vectors = [torch.randn(128, device=DEVICE).requires_grad_() for _ in range(2)]
    found = torch.ops.regard.residual_norm(x, y, *vectors, None, 0.0, 1e-5)[0]
    assert found.dtype == HALF
    assert {tensor.dtype for tensor in torch.autograd.grad(found, vectors, gradient)} == {torch.float32}


@needs_triton
@needs_a_place
@pytest.mark.parametrize("dtype", [torch.float32, HALF])
@pytest.mark.parametrize(("count", "width"), [(37, 24), (64, 256), (200, 1000), (1, 16)])
def test_a_product_with_a_relu_and_its_gradients_are_those_of_the_plain_way(
    count: int, width: int, dtype: torch.dtype
) -> None:
    assert kernels.works("relu")
    *inputs, gradient = relu(count, width, dtype)
    found = torch.ops.regard.relu_product(*inputs)
    x, weight, bias = precise = [tensor.detach().double().requires_grad_() for tensor in inputs]
    product = F.linear(x, weight, bias)
    error = 1e-5 if dtype == torch.float32 else 1e-2
    torch.testing.assert_close(found.double(), product.relu(), rtol=error, atol=20 * error)
    ours = torch.autograd.grad(found, inputs, gradient)
    theirs = torch.autograd.grad(product, precise, gradient.double() * (found > 0))
    for our, their, given in zip(ours, theirs, inputs, strict=True):
        assert our.dtype == given.dtype
        torch.testing.assert_close(our.double(), their, rtol=error, atol=error * float(their.abs().max()))


@needs_triton
@needs_a_place
def test_the_gradient_of_a_relus_bias_is_the_same_each_time_and_however_it_is_cut_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from regard.kernels import relu as kernel

    *inputs, gradient = relu(200, 300, HALF)
    found = []
    for tiling in (kernel.BACKWARD, kernel.BACKWARD, kernel.Tiling(rows=4, lanes=64, warps=1, lasting=16)):
        monkeypatch.setattr(kernel, "BACKWARD", tiling)
        found.append(torch.autograd.grad(torch.ops.regard.relu_product(*inputs), inputs, gradient))
    for one, again, other in zip(*found, strict=True):
        assert torch.equal(one, again)
        torch.testing.assert_close(one, other, rtol=1e-2, atol=1e-2)
