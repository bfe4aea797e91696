"""Models with packed weights, for translating on processors, against the models themselves."""

from copy import deepcopy
from random import Random
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from baselines import MODELS, model
from regard.models.fast import fast_form
from regard.models.fast import packing as room
from regard.models.fast.packing import PackedEmbedding, PackedLinear, can_pack
from regard.search.session import closed_ranks
from small import options, padded, transformer

needs_packing = pytest.mark.skipif(not can_pack(), reason="this PyTorch has no oneDNN")
BATCH = padded([([2, 3, 4, 5, 6], [7, 8, 9]), ([10], [11]), ([], [])])


def logits(model: Any) -> torch.Tensor:
    with torch.no_grad():
        found: torch.Tensor = model(BATCH)
        return found


@needs_packing
@settings(max_examples=10)
@given(options)
def test_a_packed_transformer_gives_the_same_logits(settings: dict[str, Any]) -> None:
    small = transformer(dtype=torch.float32, **settings)
    expected = logits(small)
    small = fast_form(small, "decoding")
    torch.testing.assert_close(logits(small), expected, rtol=0, atol=1e-5)


@needs_packing
@pytest.mark.parametrize("name", MODELS)
def test_so_does_every_other_packed_model(name: str) -> None:
    small = model(name, dtype=torch.float32)
    expected = logits(small)
    small = fast_form(small, "decoding")
    torch.testing.assert_close(logits(small), expected, rtol=0, atol=1e-5)


@needs_packing
def test_all_products_are_packed_and_the_model_keeps_its_weights_and_its_attentions() -> None:
    small = transformer(dtype=torch.float32)
    kinds, weights, names = (
        [type(module) for module in small.modules()],
        list(small.parameters()),
        list(small.state_dict()),
    )
    attentions = list(small.attentions())
    small = fast_form(small, "decoding")
    assert all(one is other for one, other in zip(small.parameters(), weights, strict=True))
    assert list(small.state_dict()) == names
    assert list(small.attentions()) == attentions
    assert not any(type(module) is torch.nn.Linear for module in small.modules())
    assert sum(isinstance(module, PackedLinear) for module in small.modules()) == kinds.count(torch.nn.Linear)
    assert isinstance(small.output_embedding, PackedEmbedding)
    assert small.output_embedding is small.target_embedding is small.source_embedding


@needs_packing
def test_a_weight_that_changes_is_packed_again_and_gradients_and_copies_are_there() -> None:
    small, other = transformer(dtype=torch.float32), transformer(seed=1, dtype=torch.float32)
    small = fast_form(small, "decoding")
    logits(small)
    small.load_state_dict(other.state_dict())
    torch.testing.assert_close(logits(small), logits(other), rtol=0, atol=1e-5)
    torch.testing.assert_close(logits(deepcopy(small).double()), logits(deepcopy(other).double()), rtol=0, atol=1e-9)
    small(BATCH).sum().backward()
    assert all(weight.grad is not None for weight in small.parameters())


def test_what_cannot_be_packed_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = transformer(dtype=torch.float64)
    expected = logits(exact)
    exact = fast_form(exact, "decoding")
    torch.testing.assert_close(logits(exact), expected)
    plain = transformer(dtype=torch.float32)
    monkeypatch.setattr(room, "can_pack", lambda: False)
    plain = fast_form(plain, "decoding")
    assert any(type(module) is torch.nn.Linear for module in plain.modules())


@given(st.integers(1, 40), st.randoms(use_true_random=False))
def test_when_ranks_close_nobody_is_lost_and_only_the_last_move(places: int, random: Random) -> None:
    busy = sorted(random.sample(range(places), random.randint(0, places)))
    closed = closed_ranks(busy)
    assert sorted(closed) == busy
    for place, was in enumerate(closed):
        assert place == was or (was >= len(busy) and place not in busy)
