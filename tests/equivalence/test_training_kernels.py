"""The kernels that training uses against the plain way: what they give, all gradients, and what compiled code sees.

They need Triton, and a GPU or Triton's interpreter (TRITON_INTERPRET=1). What happens without them is at the end.
"""

import os
from importlib.util import find_spec
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from regard import kernels
from regard.batches.rows import Batch
from regard.models import fused
from regard.models.dropout import Dropout
from regard.models.transformer import Transformer, backwards, may_look
from regard.training import loss as losses
from regard.training.loss import LossOf, smoothed_cross_entropy
from regard.training.precision import Rounded
from small import packed, transformer

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
HALF = torch.bfloat16 if DEVICE == "cuda" else torch.float16  # the interpreter has no bf16
needs_triton = pytest.mark.skipif(
    find_spec("triton") is None, reason="Triton is not installed: it comes with PyTorch for GPUs"
)
needs_a_place = pytest.mark.skipif(
    DEVICE == "cpu" and not os.environ.get("TRITON_INTERPRET"), reason="no GPU, and TRITON_INTERPRET is not set"
)


def rows(queries: int, keys: int, width: int, dtype: torch.dtype, heads: int = 2) -> list[Tensor]:
    """Queries, keys and values side by side, keys and values apart where their number is another, and a gradient."""
    torch.manual_seed(0)
    sizes = [(queries, 3)] if queries == keys else [(queries, 1), (keys, 2)]
    shapes = [(2, length, parts * heads * width) for length, parts in (*sizes, (queries, 1))]
    return [torch.randn(shape, device=DEVICE).to(dtype).requires_grad_() for shape in shapes]


def attend(inputs: list[Tensor], allowed: Tensor, heads: int = 2) -> Tensor:
    answers: Tensor = torch.ops.regard.row_attention(inputs[0], *(inputs[1:] or [None]), allowed, heads)[0]
    return answers


def segments(length: int) -> Tensor:
    """Sentences side by side, then padding in the second row."""
    numbers = torch.arange(length, device=DEVICE) // 17 + 1
    return torch.stack([numbers, numbers.masked_fill(numbers == numbers.max(), 0)])


def mask(kind: str, queries: int, keys: int) -> Tensor:
    if kind == "causal":
        return may_look(segments(queries), segments(keys)) & backwards(max(queries, keys), DEVICE)[:queries, :keys]
    if kind == "keys":
        return (segments(keys) != 0)[:, None, None]
    allowed = may_look(segments(queries), segments(keys))
    if kind == "nothing":
        allowed[:, :, 3:9] = False
    return allowed


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
def test_a_query_that_may_look_at_nothing_gets_zeros_and_no_gradient() -> None:
    assert kernels.works("row_attention")
    *inputs, gradient = rows(8, 8, 16, HALF)
    allowed = torch.zeros(2, 1, 8, 8, dtype=torch.bool, device=DEVICE)
    found = attend(inputs, allowed)
    for tensor in (found, *torch.autograd.grad(found, inputs, gradient)):
        assert not tensor.any()


@needs_triton
@needs_a_place
@pytest.mark.parametrize("keys", [12, 20])
def test_answers_and_gradients_lie_as_matrix_products_need_them(keys: int) -> None:
    assert kernels.works("row_attention")
    *inputs, gradient = rows(12, keys, 16, HALF)
    found = attend(inputs, mask("block", 12, keys))
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


def residual(width: int, dtype: torch.dtype, count: int = 37) -> list[Tensor]:
    """What goes along and what is added, weight and bias, and a gradient of the result."""
    torch.manual_seed(0)
    shapes = (count, width), (count, width), (width,), (width,), (count, width)
    return [torch.randn(shape, device=DEVICE).to(dtype).requires_grad_() for shape in shapes]


def seeded(number: int) -> Tensor:
    return torch.tensor([number], device=DEVICE)


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
    for our, their, given in zip(ours, theirs, inputs, strict=True):
        assert our.dtype == given.dtype
        torch.testing.assert_close(our.double(), their, rtol=error, atol=error)


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
    for our, their in zip(ours, theirs, strict=True):
        torch.testing.assert_close(our.double(), their, rtol=error, atol=error)


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
def test_compiled_code_calls_the_residual_and_its_gradient() -> None:
    *inputs, gradient = residual(128, HALF, count=6)
    inputs[:2] = (tensor.detach().view(2, 3, 128).transpose(0, 1).requires_grad_() for tensor in inputs[:2])
    gradient = gradient.view(3, 2, 128)

    def normalise(x: Tensor, y: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        assert kernels.works("residual")
        out: Tensor = torch.ops.regard.residual_norm(x, y, weight, bias, seeded(3), 0.1, 1e-5)[0]
        return out

    compiled = torch.compile(normalise, fullgraph=True, dynamic=False, backend="aot_eager")(*inputs)
    plain = normalise(*inputs)
    assert torch.equal(compiled, plain)
    assert compiled.is_contiguous()
    ours = torch.autograd.grad(compiled, inputs, gradient)
    for our, their in zip(ours, torch.autograd.grad(plain, inputs, gradient), strict=True):
        assert torch.equal(our, their)


def relu(count: int, width: int, dtype: torch.dtype) -> list[Tensor]:
    """What goes into a product, weight and bias, and a gradient of the result."""
    torch.manual_seed(0)
    shapes = (count, 48), (width, 48), (width,), (count, width)
    return [torch.randn(shape, device=DEVICE).to(dtype).requires_grad_() for shape in shapes]


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


@needs_triton
@needs_a_place
def test_compiled_code_calls_the_product_with_a_relu_and_its_gradient() -> None:
    *inputs, gradient = relu(24, 48, HALF)

    def activate(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        assert kernels.works("relu")
        found: Tensor = torch.ops.regard.relu_product(x, weight, bias)
        return found

    compiled = torch.compile(activate, fullgraph=True, dynamic=False, backend="aot_eager")(*inputs)
    plain = activate(*inputs)
    assert torch.equal(compiled, plain)
    ours = torch.autograd.grad(compiled, inputs, gradient)
    for our, their in zip(ours, torch.autograd.grad(plain, inputs, gradient), strict=True):
        assert torch.equal(our, their)


@needs_triton
@needs_a_place
def test_the_operations_of_a_product_with_a_relu_are_what_they_tell_the_compiler() -> None:
    assert kernels.works("relu")
    *inputs, gradient = relu(20, 40, torch.float32)
    torch.library.opcheck(torch.ops.regard.relu_product, tuple(inputs))
    result = torch.ops.regard.relu_product(*inputs).detach()
    torch.library.opcheck(torch.ops.regard.relu_product_backward, (gradient.detach(), result))


@pytest.mark.parametrize("kind", [torch.nn.ReLU, torch.nn.GELU])
def test_an_activation_goes_the_plain_way_on_a_processor(kind: type[torch.nn.Module]) -> None:
    linear, activation, x = torch.nn.Linear(16, 24), kind(), torch.randn(2, 3, 16)
    assert torch.equal(fused.fused_activation(x, linear, activation), activation(linear(x)))


@needs_triton
@needs_a_place
@pytest.mark.parametrize("keys", [12, 20])
def test_the_operations_of_attention_are_what_they_tell_the_compiler(keys: int) -> None:
    assert kernels.works("row_attention")
    *inputs, gradient = rows(12, keys, 16, torch.float32)
    asking, telling, *_ = (*inputs, None)
    allowed = mask("block", 12, keys)
    torch.library.opcheck(torch.ops.regard.row_attention, (asking, telling, allowed, 2))
    normalisers = torch.ops.regard.row_attention(asking, telling, allowed, 2)[1].detach()
    detached = [None if tensor is None else tensor.detach() for tensor in (gradient, asking, telling)]
    torch.library.opcheck(torch.ops.regard.row_attention_backward, (*detached, allowed, normalisers, 2))


@needs_triton
@needs_a_place
def test_the_operations_of_the_loss_are_what_they_tell_the_compiler() -> None:
    assert kernels.works("loss")
    logits, labels = torch.randn(3, 50, device=DEVICE), torch.tensor([1, 4, 3], device=DEVICE)
    real = torch.tensor([True, False, True], device=DEVICE)
    arguments = logits.requires_grad_(), labels, real, 0.1
    torch.library.opcheck(torch.ops.regard.smoothed_cross_entropy, arguments)
    rest = logits.detach(), labels, real, torch.randn(3, device=DEVICE), 0.1
    incoming = torch.ones((), device=DEVICE).expand(3)
    torch.library.opcheck(torch.ops.regard.smoothed_cross_entropy_backward, (incoming, *rest))


@needs_triton
@needs_a_place
@pytest.mark.parametrize("seed", [None, 3])
def test_the_operations_of_a_residual_are_what_they_tell_the_compiler(seed: int | None) -> None:
    assert kernels.works("residual")
    *inputs, gradient = residual(128, torch.float32, count=5)
    drawn = None if seed is None else seeded(seed)
    torch.library.opcheck(torch.ops.regard.residual_norm, (*inputs, drawn, 0.1, 1e-5))
    _, added, statistics = torch.ops.regard.residual_norm(*inputs, drawn, 0.1, 1e-5)
    arguments = gradient.detach(), added.detach(), statistics.detach(), inputs[2].detach(), drawn, 0.1
    torch.library.opcheck(torch.ops.regard.residual_norm_backward, arguments)


@needs_triton
@needs_a_place
@pytest.mark.parametrize("keys", [12, 20])
def test_compiled_code_tries_a_kernel_once_and_calls_it(keys: int) -> None:
    *inputs, gradient = rows(12, keys, 16, HALF)
    allowed = mask("block", 12, keys)

    def answers(*inputs: Tensor) -> Tensor:
        assert kernels.works("row_attention")
        return attend(list(inputs), allowed)

    kernels.trusted.cache_clear()
    compiled = torch.compile(answers, fullgraph=True, dynamic=False, backend="aot_eager")(*inputs)
    ours = torch.autograd.grad(compiled, inputs, gradient)
    for our, their in zip(ours, torch.autograd.grad(answers(*inputs), inputs, gradient), strict=True):
        assert torch.equal(our, their)


@needs_triton
@pytest.mark.skipif(DEVICE == "cpu", reason="no GPU")
def test_a_model_learns_the_same_with_kernels_and_without(monkeypatch: pytest.MonkeyPatch) -> None:
    model = transformer(d_model=64, heads=4, dtype=torch.float32).cuda()
    batch = packed([[([3, 4, 5], [6, 7]), ([8, 9], [10, 11, 12])], [([5], [3, 3])]]).to(DEVICE)
    found = []
    for answer in (lambda _: False, kernels.works):
        monkeypatch.setattr(fused, "works", answer)
        monkeypatch.setattr(losses, "works", answer)
        with torch.autocast(DEVICE, dtype=HALF):
            lost = LossOf(model, label_smoothing=0.1)(batch)
        found.append([*lost, *torch.autograd.grad(lost.smoothed, list(model.parameters()))])
    for plain, ours in zip(*found, strict=True):
        torch.testing.assert_close(ours, plain, rtol=0.05, atol=0.05 * float(plain.abs().max()))


BATCH = [[([3, 4, 5], [6, 7]), ([8, 9], [10, 11, 12])], [([5], [3, 3])]]


def states_and_gradients(model: Transformer, way: str) -> tuple[list[Tensor], set[str]]:
    """The states of some sentences, the gradients of all weights, and the names of the kernels that were used."""
    batch, used = packed(BATCH).to(DEVICE), set()

    def works(name: str) -> bool:
        used.add(name)
        return kernels.works(name)

    with pytest.MonkeyPatch.context() as patch, torch.autocast(DEVICE, dtype=HALF, enabled=way == "autocast"):
        patch.setattr(fused, "works", works)
        patch.setattr(fused, "_learns_on_a_gpu", lambda _: way != "plain" and torch.is_grad_enabled())
        states = (Rounded(StatesOf(model), HALF) if way == "half" else StatesOf(model))(batch)
    draw = torch.Generator().manual_seed(5)
    wanted = torch.randn(states.shape, generator=draw).to(states)
    gradients = torch.autograd.grad(states, list(model.parameters()), wanted, materialize_grads=True)
    return [states.detach(), *gradients], used


class StatesOf(torch.nn.Module):
    """The decoder's output, as what a module gives."""

    def __init__(self, model: Transformer) -> None:
        super().__init__()
        self.model = model

    def forward(self, batch: Batch) -> Tensor:
        return self.model.states(batch)


@needs_triton
@needs_a_place
@pytest.mark.parametrize("way", ["half", "autocast"])
@pytest.mark.parametrize("attention_bias", [True, False])
def test_a_whole_model_and_its_gradients_are_those_of_the_plain_way(attention_bias: bool, way: str) -> None:
    model = transformer(d_model=128, heads=8, dtype=torch.float32, attention_bias=attention_bias).to(DEVICE)
    ours, used = states_and_gradients(model, way)
    theirs, none = states_and_gradients(model, "plain")
    assert used == ({"row_attention", "relu", "residual"} if way == "half" else {"row_attention"})
    assert not none
    loose = 0.1 if DEVICE == "cuda" else 0.02  # bf16, or fp16
    for our, their in zip(ours, theirs, strict=True):
        error = loose * float(their.abs().max()) + loose / 4  # biases of keys have no gradient but what rounding makes
        torch.testing.assert_close(our.float(), their, rtol=loose, atol=error)


@needs_triton
@needs_a_place
@pytest.mark.parametrize(
    "way", [{"d_v": 32}, {"d_k": 12, "d_v": 12}, {"observed": True}, {"long": True}, {"no gradient": True}]
)
def test_what_does_not_fit_the_kernel_goes_the_plain_way(way: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = {name: size for name, size in way.items() if name in ("d_k", "d_v")}
    attention = transformer(d_model=128, heads=8, dtype=HALF, **sizes).encoder.layers[0].self_attention.to(DEVICE)
    monkeypatch.setattr(fused, "_learns_on_a_gpu", lambda _: torch.is_grad_enabled())
    attention.observer = (lambda lookup: lookup.weights) if way.get("observed") else None
    length = 129 if way.get("long") else 5
    x = torch.randn(2, length, 128, device=DEVICE, dtype=HALF)
    allowed = torch.ones(2, 1, length, length, dtype=torch.bool, device=DEVICE)
    with torch.set_grad_enabled("no gradient" not in way):
        assert fused.joint_attention(attention, x, x, allowed) is None
        assert attention(x, x, allowed).shape == x.shape


def test_compiled_code_goes_the_plain_way_where_a_kernel_does_not_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "trusted", lambda _: None)
    tensors = [torch.randn(2, 2, 8, 16) for _ in range(3)]
    allowed = may_look(torch.ones(2, 8), torch.ones(2, 8))

    def attend(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        if kernels.works("row_attention"):
            return query
        return fused.fused_attention(query, key, value, allowed)

    found = torch.compile(attend, fullgraph=True, backend="eager")(*tensors)
    torch.testing.assert_close(found, F.scaled_dot_product_attention(*tensors, attn_mask=allowed))


@pytest.mark.parametrize("training", [True, False])
def test_on_a_processor_a_residual_goes_the_plain_way(training: bool) -> None:
    norm, dropout = torch.nn.LayerNorm(128), Dropout(0.3).train(training)
    x, y = torch.randn(2, 3, 5, 128)
    found = []
    for way in (lambda: fused.fused_residual(x, y, norm, dropout), lambda: norm(x + dropout(y))):
        torch.manual_seed(1)
        found.append(way())
    assert torch.equal(*found)


@needs_triton
@pytest.mark.skipif(DEVICE == "cpu", reason="no GPU")
@pytest.mark.parametrize("p", [0.0, 0.1])
def test_on_a_gpu_a_residual_goes_through_the_kernel(p: float, monkeypatch: pytest.MonkeyPatch) -> None:
    norm, dropout = torch.nn.LayerNorm(512, device=DEVICE, dtype=HALF), Dropout(p)
    x, y, *_ = residual(512, HALF)
    ours = fused.fused_residual(x, y, norm, dropout)
    assert "residual_norm" in type(ours.grad_fn).__name__
    assert p or torch.allclose(ours, norm(x + y), rtol=0.02, atol=0.02)
    monkeypatch.setattr(fused, "works", lambda _: False)
    theirs = fused.fused_residual(x, y, norm, dropout)
    assert float(ours.std()) == pytest.approx(float(theirs.std()), rel=0.02)


@pytest.mark.skipif(find_spec("triton") is not None, reason="Triton is installed")
@pytest.mark.parametrize("name", ["row_attention", "relu", "residual", "loss"])
def test_without_triton_no_kernel_works_and_nobody_is_warned(name: str) -> None:
    assert not kernels.works(name)
