"""Every fast form of a model against the plain model, the specification: the same parameters, the same numbers.

Kernels need a GPU and have tests of their own (test_kernels_in_models.py); here the GPU's form runs without them.
"""

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from baselines import MODELS, model
from regard.models import fast
from regard.models.fast import fast_form, gpu, in_place
from small import options, packed, padded, pairs, transformer

FORMS = ["training on a CPU", "decoding on a CPU", "GPU"]
BATCH = packed([[([2, 3, 4], [5, 6]), ([7], [8, 9, 10])], [([11, 12], [13])]])


def form_of(plain: Any, form: str) -> Any:
    return fast._with(plain, gpu.FORMS) if form == "GPU" else fast_form(plain, form.split()[0])  # type: ignore[arg-type]


def without_dropout(plain: Any) -> Any:
    for module in plain.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
    return plain


def logits_and_gradients(model: Any, batch: Any) -> list[Tensor]:
    real = batch.streams["target"].segments != 0
    logits = model(batch)[real]
    torch.manual_seed(1)
    wanted = torch.randn_like(logits)
    return [logits.detach(), *torch.autograd.grad(logits, list(model.parameters()), wanted, materialize_grads=True)]


@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=25)
@given(choices=options, rows=st.lists(st.lists(pairs, min_size=1, max_size=3), min_size=1, max_size=3))
def test_a_fast_transformer_gives_the_logits_and_gradients_of_the_plain_one(form: str, choices: Any, rows: Any) -> None:
    plain = transformer(**choices, dropout=0.0).train()
    quick, batch = form_of(plain, form), packed(rows)
    for found, expected in zip(logits_and_gradients(quick, batch), logits_and_gradients(plain, batch), strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", MODELS)
def test_so_do_the_models_that_it_replaced(name: str, form: str) -> None:
    plain = without_dropout(model(name)).train()
    batch = padded([([2, 3, 4], [5, 6]), ([7], [8, 9, 10])])
    quick = form_of(plain, form)
    for found, expected in zip(logits_and_gradients(quick, batch), logits_and_gradients(plain, batch), strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=15)
@given(choices=options)
def test_a_fast_transformer_steps_as_the_plain_one_does_in_place_too(form: str, choices: Any) -> None:
    plain, rows = transformer(**choices), padded([([2, 3, 4, 5], [6, 7]), ([8], [9])]).streams["source"]
    quick, width = form_of(plain, form), 3
    states = [which.start(which.encode(rows), width=width) for which in (plain, quick, quick)]
    states[2] = in_place(states[2], 12)
    tokens = torch.tensor([0] * 2 * width)
    for step in range(10):
        steps = [which.step(tokens, state) for which, state in zip((plain, quick, quick), states, strict=True)]
        for logits, _ in steps[1:]:
            torch.testing.assert_close(logits, steps[0][0], rtol=1e-9, atol=1e-9)
        order = torch.tensor([0, 0, 2, 5, 4, 3] if step % 2 else [1, 2, 0, 3, 3, 3])
        states = [state.reorder(order) for _, state in steps]
        tokens = steps[0][0].argmax(-1)[order]


@pytest.mark.parametrize("form", FORMS)
def test_a_fast_form_has_the_parameters_of_the_plain_model_under_their_names(form: str) -> None:
    plain = transformer(positions="learned")
    quick = form_of(plain, form)
    assert quick is not plain
    assert type(plain.encoder.layers[0].self_attention) is not type(quick.encoder.layers[0].self_attention)
    named = dict(quick.named_parameters())
    assert list(named) == [name for name, _ in plain.named_parameters()]
    assert all(named[name] is parameter for name, parameter in plain.named_parameters())
    assert list(quick.state_dict()) == list(plain.state_dict())


@pytest.mark.parametrize("form", FORMS)
def test_an_observer_of_a_fast_form_sees_the_weights_of_the_plain_model_and_changes_them_alike(form: str) -> None:
    plain = transformer()
    found = []
    for which in (plain, form_of(plain, form)):
        seen: list[Tensor] = []
        for attention in which.attentions().values():
            attention.observer = lambda lookup, seen=seen: seen.append(lookup.weights) or lookup.weights.flip(1)
        with torch.no_grad():
            found.append([which(BATCH), *seen])
    assert len(found[0]) == 7
    torch.testing.assert_close(found[1], found[0])


def test_a_table_of_sinusoids_serves_positions_of_any_size() -> None:
    plain = transformer()
    for form in FORMS:
        sinusoids = form_of(plain, form).source_positions
        for positions in (torch.tensor([[0, 1, 2]]), torch.tensor([[5_000]]), torch.arange(300)[None]):
            x = torch.randn(1, positions.size(1), 16, dtype=torch.float64)
            torch.testing.assert_close(sinusoids(x, positions), plain.source_positions(x, positions))
