"""The output projection and its loss as one operation: what it gives, its gradients, and when models learn with it.

Most of it needs Triton, and a GPU or Triton's interpreter (TRITON_INTERPRET=1).
"""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode

from kernel_inputs import DEVICE, HALF, needs_a_place, needs_triton
from regard import kernels
from regard.batches.rows import Batch
from regard.models.transformer import ARCHITECTURE, Transformer
from regard.training import loss as losses
from regard.training.loss import Losses, LossOf, smoothed_cross_entropy
from regard.training.machine.precision import Rounded
from small import packed, transformer

BATCH = [[([3, 4, 5], [6, 7]), ([8, 9], [10, 11, 12])], [([5], [3, 3])]]


def inputs(count: int, vocabulary: int, dtype: torch.dtype, width: int = 24) -> list[Tensor]:
    """States, of which one gives large logits, and a weight; labels from the first word to the last; what is real."""
    draw = torch.Generator().manual_seed(3)
    states, weight = torch.randn(count, width, generator=draw), torch.randn(vocabulary, width, generator=draw) / 4
    states[count // 2] *= 25
    labels = torch.randint(vocabulary, (count,), generator=draw)
    labels[0], labels[-1] = 0, vocabulary - 1
    real = torch.arange(count) % 5 != 2
    given = (tensor.to(DEVICE, dtype).requires_grad_() for tensor in (states, weight))
    return [*given, labels.to(DEVICE), real.to(DEVICE)]


def plain(states: Tensor, weight: Tensor, labels: Tensor, real: Tensor, epsilon: float) -> tuple[Tensor, Tensor]:
    smoothed, likelihood = smoothed_cross_entropy(states @ weight.t(), labels, epsilon)
    return (smoothed * real).sum(), (likelihood * real).sum()


def ours(*given: Any) -> tuple[Tensor, Tensor]:
    assert kernels.works("projected_loss")
    smoothed, likelihood, *_ = torch.ops.regard.projected_cross_entropy(*given)
    return smoothed, likelihood


@needs_triton
@needs_a_place
@pytest.mark.parametrize("dtype", [torch.float32, HALF])
@pytest.mark.parametrize(("count", "vocabulary"), [(23, 50), (11, 301), (13, 8192), (13, 9000), (10, 17001), (1, 40)])
@pytest.mark.parametrize("epsilon", [0.0, 0.1])
def test_sums_and_gradients_are_those_of_the_plain_way_in_float64(
    count: int, vocabulary: int, dtype: torch.dtype, epsilon: float
) -> None:
    *given, labels, real = inputs(count, vocabulary, dtype)
    precise = [tensor.detach().double().requires_grad_() for tensor in given]
    found, expected = ours(*given, labels, real, epsilon), plain(*precise, labels, real, epsilon)
    assert all(one.dtype == torch.float32 and one.shape == () for one in found)
    assert not found[1].requires_grad
    error = 1e-4 if dtype == torch.float32 else (0.03 if DEVICE == "cuda" else 0.003)
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one.double(), other, rtol=error, atol=error)
    gradients = torch.autograd.grad(0.37 * found[0], given)
    for one, tensor, other in zip(gradients, given, torch.autograd.grad(0.37 * expected[0], precise), strict=True):
        assert one.dtype == dtype
        assert one.shape == tensor.shape
        torch.testing.assert_close(one.double(), other, rtol=error, atol=error * float(other.abs().max()))
    assert not gradients[0][~real].any()


@needs_triton
@needs_a_place
def test_gradients_are_rounded_as_those_of_rounded_logits() -> None:
    states, weight, labels, real = inputs(13, 9000, HALF)
    logits = (states @ weight.t()).detach().float().requires_grad_()
    smoothed, _ = smoothed_cross_entropy(logits, labels, 0.1)
    (change,) = torch.autograd.grad((smoothed * real).sum(), logits)
    wanted = change.to(HALF) @ weight, change.to(HALF).t() @ states
    found = torch.autograd.grad(ours(states, weight, labels, real, 0.1)[0], (states, weight))
    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(one, other, rtol=0.01, atol=0.002 * float(other.detach().abs().max()))


@needs_triton
@needs_a_place
def test_where_nothing_is_real_nothing_is_lost() -> None:
    *given, labels, real = inputs(7, 50, HALF)
    found = ours(*given, labels, torch.zeros_like(real), 0.1)
    assert not any(one.any() for one in (*found, *torch.autograd.grad(found[0], given)))


@needs_triton
@needs_a_place
def test_no_program_depends_on_how_many_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    from regard.kernels import projected_loss
    from regard.kernels.multiprocessors import multiprocessors

    count = 4 * multiprocessors(torch.device(DEVICE)) + 11
    *given, labels, real = inputs(count, 300, torch.float32)
    found = []
    for lasting in (1, 3, 100):
        monkeypatch.setattr(projected_loss, "TILING", projected_loss.TILING._replace(lasting=lasting))
        smoothed, likelihood = ours(*given, labels, real, 0.1)
        found.append((smoothed, likelihood, *torch.autograd.grad(smoothed, given)))
    assert all(torch.equal(one, other) for others in found[1:] for one, other in zip(found[0], others, strict=True))


@needs_triton
@needs_a_place
def test_the_operation_is_what_it_tells_the_compiler() -> None:
    assert kernels.works("projected_loss")
    given = (*inputs(6, 50, torch.float32), 0.1)
    torch.library.opcheck(torch.ops.regard.projected_cross_entropy, given)


@needs_triton
@needs_a_place
def test_the_compiler_is_told_of_it_though_it_has_no_operation_for_its_gradient() -> None:
    from torch._inductor.lowering import lowerings

    kernels.introduce()
    assert torch.ops.regard.projected_cross_entropy.default in lowerings
    assert not hasattr(torch.ops.regard, "projected_cross_entropy_backward")


class PlainLossOf(LossOf):
    """The same without kernels, wherever it runs."""

    def forward(self, batch: Batch) -> Losses:
        states = self.model.states(batch)
        smoothed, likelihood = smoothed_cross_entropy(self.model.logits(states), batch.labels, self.label_smoothing)
        real = batch.streams["target"].segments != 0
        return Losses((smoothed * real).sum(), (likelihood * real).sum())


def learned(model: Transformer, kind: type[LossOf], *, compiled: bool = False) -> list[Tensor]:
    """In half precision, the losses of some sentences, and the gradients of all weights."""
    module = Rounded(kind(model, label_smoothing=0.1, output_weight=ARCHITECTURE.output_weight), HALF)
    if compiled:
        module.compile(fullgraph=True, dynamic=False, backend="aot_eager")
    found: Losses = module(packed(BATCH).to(DEVICE)._replace(tokens=0))
    return [*(loss.detach() for loss in found), *torch.autograd.grad(0.3 * found.smoothed, list(model.parameters()))]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The names of the kernels that the loss asked for, of which the one that keeps no logits is used anywhere."""
    names = set()

    def works(name: str) -> bool:
        names.add(name)
        return kernels.works(name)

    def learns(states: Tensor, weight: Tensor) -> bool:
        return torch.is_grad_enabled() and states.dtype == weight.dtype == HALF

    monkeypatch.setattr(losses, "_learns_in_bf16", learns)
    monkeypatch.setattr(losses, "works", works)
    return names


@needs_triton
@needs_a_place
@pytest.mark.parametrize("tied", ["all", "target-output", "source-target", "none"])
def test_a_whole_model_learns_what_it_learns_the_plain_way(tied: str, asked: set[str]) -> None:
    model = transformer(dtype=torch.float32, tied_embeddings=tied).to(DEVICE)
    expected = learned(model, PlainLossOf)
    assert not asked
    found = learned(model, LossOf)
    assert asked == {"projected_loss"}
    loose = 0.08 if DEVICE == "cuda" else 0.01  # bf16, or fp16
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == torch.float32
        assert float((one - other).norm()) <= loose * float(other.norm())


@needs_triton
@needs_a_place
def test_compiled_a_whole_model_is_one_graph_and_learns_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(losses, "_learns_in_bf16", lambda *_: torch.is_grad_enabled())
    model = transformer(dtype=torch.float32).to(DEVICE)
    assert kernels.works("projected_loss")
    loose = 0.08 if DEVICE == "cuda" else 0.01
    for one, other in zip(learned(model, LossOf, compiled=True), learned(model, LossOf), strict=True):
        assert float((one - other).norm()) <= loose * float(other.norm())


@needs_triton
@needs_a_place
def test_with_a_bias_or_twice_or_where_nobody_learns_logits_are_kept(asked: set[str]) -> None:
    batch = packed(BATCH).to(DEVICE)
    plain_model, biased = (transformer(dtype=HALF, output_bias=bias).to(DEVICE) for bias in (False, True))
    LossOf(biased, label_smoothing=0.1, output_weight=ARCHITECTURE.output_weight)(batch)
    LossOf(plain_model, label_smoothing=0.1, output_weight=ARCHITECTURE.output_weight, consistency=1.0).train()(batch)
    with torch.no_grad():
        LossOf(plain_model, label_smoothing=0.1, output_weight=ARCHITECTURE.output_weight)(batch)
    assert "projected_loss" not in asked
    LossOf(plain_model, label_smoothing=0.1, output_weight=ARCHITECTURE.output_weight)(batch)
    assert "projected_loss" in asked


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda states, weight: (states, weight), True),
        (lambda states, weight: (states, weight.float()), False),
        (lambda states, weight: (states.float(), weight.float()), False),
        (lambda states, weight: (states.half(), weight.half()), False),
        (lambda states, weight: (states.cpu(), weight.cpu()), False),
        (lambda states, weight: (states, weight.new_empty(37, 16)), False),
    ],
)
def test_only_a_gpu_that_learns_in_bf16_keeps_no_logits(
    change: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]], expected: bool
) -> None:
    with FakeTensorMode():
        states, weight = (torch.empty(40, 16, device="cuda", dtype=torch.bfloat16) for _ in range(2))
        assert losses._learns_in_bf16(*change(states, weight)) is expected
        with torch.no_grad():
            assert not losses._learns_in_bf16(*change(states, weight))
