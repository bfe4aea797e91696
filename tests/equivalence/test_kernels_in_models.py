"""The kernels that training uses, in models and in compiled code; and what happens where they cannot be used.

Most of it needs Triton, and a GPU or Triton's interpreter (TRITON_INTERPRET=1).
"""

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.fx import Graph
from torch.nn import functional as F

from kernel_inputs import DEVICE, HALF, attend, mask, needs_a_place, needs_triton, relu, residual, rows, seeded
from regard import kernels
from regard.batches.rows import Batch
from regard.kernels import compiling
from regard.models import fast
from regard.models.fast import gpu
from regard.models.transformer import ARCHITECTURE, FeedForward, Transformer
from regard.training import loss as losses
from regard.training.loss import LossOf
from regard.training.machine.precision import Rounded
from small import packed, sight, transformer


def on_a_gpu(model: Any) -> Any:
    """The form of a model, or of a part of one, for GPUs, wherever it is."""
    return fast._with(model, gpu.FORMS)


def same_when_compiled(way: Callable[..., Tensor], inputs: list[Tensor], gradient: Tensor) -> Tensor:
    """What the way gives when it is compiled: the same bits, and the same gradients."""
    compiled = torch.compile(way, fullgraph=True, dynamic=False, backend="aot_eager")(*inputs)
    plain = way(*inputs)
    assert torch.equal(compiled, plain)
    ours = torch.autograd.grad(compiled, inputs, gradient)
    for our, their in zip(ours, torch.autograd.grad(plain, inputs, gradient), strict=True):
        assert torch.equal(our, their)
    found: Tensor = compiled
    return found


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

    assert same_when_compiled(normalise, inputs, gradient).is_contiguous()


@needs_triton
@needs_a_place
def test_compiled_code_calls_the_product_with_a_relu_and_its_gradient() -> None:
    *inputs, gradient = relu(24, 48, HALF)

    def activate(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        assert kernels.works("relu")
        found: Tensor = torch.ops.regard.relu_product(x, weight, bias)
        return found

    same_when_compiled(activate, inputs, gradient)


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
    plain = transformer(activation=kind.__name__.lower()).encoder.layers[0].feed_forward
    x = torch.randn(2, 3, 16, dtype=torch.float64)
    assert torch.equal(on_a_gpu(plain)(x), plain(x))


@needs_triton
@needs_a_place
@pytest.mark.parametrize("keys", [12, 20])
def test_the_operations_of_attention_are_what_they_tell_the_compiler(keys: int) -> None:
    assert kernels.works("row_attention")
    assert kernels.works("long_rows")
    ours = torch.ops.regard
    *inputs, gradient = rows(12, keys, 16, torch.float32)
    asking, telling, *_ = (*inputs, None)
    spans = gpu.spans_of(mask("block", 12, keys), 12)
    detached = [None if tensor is None else tensor.detach() for tensor in (gradient, asking, telling)]
    torch.library.opcheck(ours.row_attention, (asking, telling, spans, 2))
    normalisers = ours.row_attention(asking, telling, spans, 2)[1].detach()
    torch.library.opcheck(ours.row_attention_backward, (*detached, spans, normalisers, 2))
    torch.library.opcheck(ours.long_row_attention, (asking, telling, spans, 2))
    kept = [tensor.detach() for tensor in ours.long_row_attention(asking, telling, spans, 2)]
    torch.library.opcheck(ours.long_row_attention_backward, (*detached, spans, *kept, 2))


@needs_triton
@needs_a_place
def test_the_operation_of_rotary_positions_is_what_it_tells_the_compiler() -> None:
    assert kernels.works("turning")
    x, angles = torch.randn(2, 5, 96, device=DEVICE, requires_grad=True), torch.rand(2, 5, 8, device=DEVICE)
    torch.library.opcheck(torch.ops.regard.turned, (x, angles.cos(), angles.sin(), 4, False))


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
    rest = added.detach(), statistics.detach(), inputs[2].detach(), drawn, 0.1
    for more in (None, gradient.detach()):
        torch.library.opcheck(torch.ops.regard.residual_norm_backward, (gradient.detach(), more, *rest))


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
    same_when_compiled(answers, inputs, gradient)


@needs_triton
@needs_a_place
def test_compiled_code_leaves_the_sum_of_two_gradients_to_the_kernel(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def three(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        for number in range(3):  # what leaves a residual enters a sub-layer, and goes past it
            x = torch.ops.regard.residual_norm(x, x.sin(), weight, bias, seeded(number), 0.1, 1e-5)[0]
        return x

    options = kernels.introduce()
    sums = []
    way = torch.ops.regard.residual_norm_backward
    seen = compiling.SumsInKernels.__call__

    def looked_at(self: compiling.SumsInKernels, graph: Graph) -> None:
        seen(self, graph)
        found = graph.find_nodes(op="call_function", target=way.default)
        sums.extend(node.args[1] is not None for node in found)

    monkeypatch.setattr(compiling.SumsInKernels, "__call__", looked_at)
    x, _, weight, bias, gradient = residual(128, torch.float32, count=6)
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))  # else a cache may answer, and nobody looks
    compiled = torch.compile(three, fullgraph=True, dynamic=False, options=options)(x, weight, bias)
    ours = torch.autograd.grad(compiled, (x, weight, bias), gradient)
    assert sums == [False, True, True]  # the last residual's result goes one way
    for our, their in zip(ours, torch.autograd.grad(three(x, weight, bias), (x, weight, bias), gradient), strict=True):
        torch.testing.assert_close(our, their, rtol=1e-5, atol=1e-5)


@needs_triton
@needs_a_place
@pytest.mark.parametrize("seed", [None, 3])
def test_a_gradient_in_two_parts_is_their_sum(seed: int | None) -> None:
    assert kernels.works("residual")
    *inputs, gradient = (tensor.detach() for tensor in residual(128, torch.float32, count=5))
    drawn = None if seed is None else seeded(seed)
    kept = torch.ops.regard.residual_norm(*inputs, drawn, 0.1, 1e-5)[1:]
    part = torch.randn_like(gradient)
    whole = torch.ops.regard.residual_norm_backward(gradient, None, *kept, inputs[2], drawn, 0.1)
    parts = torch.ops.regard.residual_norm_backward(gradient - part, part, *kept, inputs[2], drawn, 0.1)
    for our, their in zip(parts, whole, strict=True):
        torch.testing.assert_close(our, their, rtol=1e-5, atol=1e-5)


@given(st.data())
def test_spans_are_the_masks_of_rows(data: st.DataObject) -> None:
    lengths = st.lists(st.integers(1, 7), max_size=4)
    sides = [[data.draw(lengths) for _ in range(3)] for _ in range(2)]
    numbers = [torch.zeros(3, 30, dtype=torch.long) for _ in sides]
    for side, rows_of_lengths in zip(numbers, sides, strict=True):
        for row, sentences in zip(side, rows_of_lengths, strict=True):
            filled = torch.arange(1, len(sentences) + 1).repeat_interleave(torch.tensor(sentences, dtype=torch.long))
            row[: len(filled)] = filled
    source, target = numbers
    for allowed in (
        sight(target, source).allowed(),
        sight(source, source).allowed(),
        sight(target, target, backwards=True).allowed(),
    ):
        spans, place = gpu.spans_of(allowed, 30)[:, None, :, None], torch.arange(30)
        assert torch.equal((place >= spans % 2**16) & (place < spans // 2**16), allowed)


def decided(model: Transformer) -> Transformer:
    """The model, its ReLUs far from where they cut: else what rounds differently cuts differently, by chance, which
    moves gradients of PyTorch's own way in bf16 by up to half of the largest.
    """
    with torch.no_grad():
        for module in model.modules():
            if isinstance(module, FeedForward):
                module.inner.weight.mul_(0.25)
                module.inner.bias.copy_(torch.tensor([1.0, -1.0]).repeat(module.inner.out_features // 2))
    return model


@needs_triton
@pytest.mark.skipif(DEVICE == "cpu", reason="no GPU")
@pytest.mark.parametrize("half", [torch.bfloat16, torch.float16])
def test_a_model_learns_the_same_with_kernels_and_without(half: torch.dtype, monkeypatch: pytest.MonkeyPatch) -> None:
    model = on_a_gpu(decided(transformer(seed=8, d_model=64, heads=4, dtype=torch.float32)).cuda())
    batch = packed([[([3, 4, 5], [6, 7]), ([8, 9], [10, 11, 12])], [([5], [3, 3])]]).to(DEVICE)
    found = []
    for answer in (lambda _: False, kernels.works):
        monkeypatch.setattr(gpu, "works", answer)
        monkeypatch.setattr(losses, "works", answer)
        with torch.autocast(DEVICE, dtype=half):
            lost = LossOf(model, label_smoothing=0.1, output_weight=ARCHITECTURE.output_weight)(batch)
        gradients = torch.autograd.grad(lost.smoothed, list(model.parameters()))
        found.append([*(part.detach() for part in lost), *gradients])
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
        patch.setattr(gpu, "works", works)
        patch.setattr(gpu, "_learns_on_a_gpu", lambda _: way != "plain" and torch.is_grad_enabled())
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
@pytest.mark.parametrize("positions", ["interleaved", "rotary"])
@pytest.mark.parametrize("attention_bias", [True, False])
@pytest.mark.parametrize("kernel", ["row_attention", "long_rows"])
def test_a_whole_model_and_its_gradients_are_those_of_the_plain_way(
    kernel: str, attention_bias: bool, positions: str, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gpu, "_SHORT_ROW", 0 if kernel == "long_rows" else 128)
    sizes = {"d_model": 128, "heads": 8, "attention_bias": attention_bias, "positions": positions}
    model = on_a_gpu(decided(transformer(dtype=torch.float32, **sizes)).to(DEVICE))
    ours, used = states_and_gradients(model, way)
    theirs, none = states_and_gradients(model, "plain")
    of_attention = {kernel, "turning"} if positions == "rotary" else {kernel}
    assert used == of_attention | ({"relu", "residual"} if way == "half" else set())
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
    model = on_a_gpu(transformer(d_model=128, heads=8, dtype=HALF, **sizes).to(DEVICE))
    attention = model.encoder.layers[0].self_attention
    assert isinstance(attention, gpu.GpuAttention)
    monkeypatch.setattr(gpu, "_learns_on_a_gpu", lambda _: torch.is_grad_enabled())
    attention.observer = (lambda lookup: lookup.weights) if way.get("observed") else None
    monkeypatch.setattr(gpu, "_LONGEST_ROW", 128)
    length = 129 if way.get("long") else 5
    x = torch.randn(2, length, 128, device=DEVICE, dtype=HALF)
    ones = torch.ones(2, length, dtype=torch.long, device=DEVICE)
    with torch.set_grad_enabled("no gradient" not in way):
        assert not attention._is_joint(x, x)
        assert attention(x, x, sight(ones, ones)).shape == x.shape


@needs_triton
@needs_a_place
def test_layers_with_the_same_mask_share_its_spans(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    way = gpu.spans_of

    def counted(allowed: Tensor, queries: int) -> Tensor:
        asked.append(queries)
        return way(allowed, queries)

    monkeypatch.setattr(gpu, "spans_of", counted)
    sizes = {"d_model": 128, "heads": 8, "encoder_layers": 3, "decoder_layers": 2}
    model = on_a_gpu(transformer(dtype=torch.float32, **sizes).to(DEVICE))
    for steps in (1, 2):
        states_and_gradients(model, "half")
        assert len(asked) == 3 * steps  # of the source, of the target, and of one over the other
    assert len(gpu._SPANS._known) == 0  # they are gone with their masks


def test_compiled_code_goes_the_plain_way_where_a_kernel_does_not_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "trusted", lambda _: None)
    tensors = [torch.randn(2, 2, 8, 16) for _ in range(3)]
    everything = sight(torch.ones(2, 8), torch.ones(2, 8))
    attention = on_a_gpu(transformer()).encoder.layers[0].self_attention

    def attend(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        return query if kernels.works("row_attention") else attention.attention(query, key, value, everything)

    found = torch.compile(attend, fullgraph=True, backend="eager")(*tensors)
    torch.testing.assert_close(found, F.scaled_dot_product_attention(*tensors))


@pytest.mark.parametrize("training", [True, False])
def test_on_a_processor_a_residual_goes_the_plain_way(training: bool) -> None:
    plain = transformer(dropout=0.3).encoder.layers[0].self_attention_residual.train(training)
    x, found = torch.randn(3, 5, 16, dtype=torch.float64), []
    for residual_connection in (on_a_gpu(plain), plain):
        torch.manual_seed(1)
        found.append(residual_connection(x, torch.sin))
    assert torch.equal(*found)


@needs_triton
@pytest.mark.skipif(DEVICE == "cpu", reason="no GPU")
@pytest.mark.parametrize("p", [0.0, 0.1])
def test_on_a_gpu_a_residual_goes_through_the_kernel(p: float, monkeypatch: pytest.MonkeyPatch) -> None:
    model = transformer(d_model=512, dropout=p, dtype=HALF).to(DEVICE).train()
    connection = on_a_gpu(model.encoder.layers[0].self_attention_residual)
    norm = connection.norm
    x, y, *_ = residual(512, HALF)
    ours = connection(x, lambda _: y)
    assert "residual_norm" in type(ours.grad_fn).__name__
    assert p or torch.allclose(ours, norm(x + y), rtol=0.02, atol=0.02)
    monkeypatch.setattr(gpu, "works", lambda _: False)
    theirs = connection(x, lambda _: y)
    assert ours.std().item() == pytest.approx(theirs.std().item(), rel=0.02)


@pytest.mark.skipif(find_spec("triton") is not None, reason="Triton is installed")
@pytest.mark.parametrize(
    "name", ["row_attention", "long_rows", "turning", "relu", "residual", "loss", "projected_loss"]
)
def test_without_triton_no_kernel_works_and_nobody_is_warned(name: str) -> None:
    assert not kernels.works(name)
