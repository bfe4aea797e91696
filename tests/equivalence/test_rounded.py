"""A model that trains with rounded weights: the same computation, and gradients for the weights as they are."""

import torch
from torch import Tensor

from regard.training.loss import LossOf
from regard.training.machine.precision import Precision, Rounded
from small import packed, transformer


def gradients(loss: torch.nn.Module, model: torch.nn.Module) -> dict[str, Tensor]:
    model.zero_grad()
    loss(packed([[([5, 7, 2], [3, 4]), ([9], [8, 6, 2])], [([4, 4], [11, 12])]])).smoothed.backward()
    return {name: weight.grad for name, weight in model.named_parameters() if weight.grad is not None}


def test_rounded_weights_get_the_gradients_of_the_model_in_that_precision() -> None:
    model = transformer(dtype=torch.float32)  # rounded to more digits, since not every processor has half precision
    found = gradients(Rounded(LossOf(model, label_smoothing=0.1), torch.float64), model)
    exact = transformer(dtype=torch.float32).double()
    expected = gradients(LossOf(exact, label_smoothing=0.1), exact)
    assert found.keys() == expected.keys()
    for name, gradient in found.items():
        assert gradient.dtype == torch.float32
        torch.testing.assert_close(gradient, expected[name].float(), rtol=1e-6, atol=1e-7)


def test_at_once_and_one_by_one_give_the_same_bits() -> None:
    model = transformer(dtype=torch.float32)
    unused = torch.nn.Parameter(torch.ones(3))
    model.register_parameter("unused", unused)
    loss = LossOf(model, label_smoothing=0.1)
    together = gradients(Rounded(loss, torch.float64), model)
    apart = gradients(Rounded(loss, torch.float64, at_once=False), model)
    assert together.keys() == apart.keys()
    assert "unused" not in together
    assert len(together) > 1
    assert all(torch.equal(gradient, apart[name]) for name, gradient in together.items())


def test_the_weights_stay_what_they_were() -> None:
    model = transformer(dtype=torch.float32)
    before = dict(model.named_parameters())
    copies = {name: weight.detach().clone() for name, weight in before.items()}
    gradients(Rounded(LossOf(model, label_smoothing=0.1), torch.float64), model)
    after = dict(model.named_parameters())
    assert all(after[name] is weight and torch.equal(weight, copies[name]) for name, weight in before.items())


def test_only_bf16_is_a_matter_of_the_whole_model() -> None:
    module, device = torch.nn.Linear(2, 2), torch.device("cpu")
    assert isinstance(Precision("bf16", torch.bfloat16, "").around(module), Rounded)
    for precision in (
        Precision("bf16", torch.bfloat16, "", whole=False),
        Precision("fp16", torch.float16, ""),
        Precision("float32", None, ""),
    ):
        assert precision.around(module) is module
    assert isinstance(Precision("bf16", torch.bfloat16, "", whole=False).cast(device), torch.autocast)
    assert not isinstance(Precision("bf16", torch.bfloat16, "").cast(device), torch.autocast)
