"""Models with packed weights, for translating on processors, against the models themselves."""

from random import Random
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from baselines import MODELS, model
from regard.models import packed as room
from regard.models.packed import PackedEmbedding, PackedLinear, can_pack, packed
from regard.search.driver import _closed_ranks
from small import options, padded, transformer

needs_packing = pytest.mark.skipif(not can_pack(), reason="this PyTorch has no oneDNN")
BATCH = padded([([2, 3, 4, 5, 6], [7, 8, 9]), ([10], [11]), ([], [])])


@needs_packing
@settings(max_examples=10)
@given(options)
def test_a_packed_transformer_gives_the_same_logits(settings: dict[str, Any]) -> None:
    small = transformer(dtype=torch.float32, **settings)
    with torch.no_grad():
        torch.testing.assert_close(packed(small)(BATCH), small(BATCH), rtol=0, atol=1e-5)


@needs_packing
@pytest.mark.parametrize("name", MODELS)
def test_so_does_every_other_packed_model(name: str) -> None:
    small = model(name, dtype=torch.float32)
    with torch.no_grad():
        torch.testing.assert_close(packed(small)(BATCH), small(BATCH), rtol=0, atol=1e-5)


@needs_packing
def test_all_products_are_packed_once_and_the_model_itself_stays_as_it_is() -> None:
    small = transformer(dtype=torch.float32)
    kinds = [type(module) for module in small.modules()]
    copy = packed(small)
    assert [type(module) for module in small.modules()] == kinds
    assert {id(weight) for weight in copy.parameters()} == {id(weight) for weight in small.parameters()}
    assert not any(type(module) is torch.nn.Linear for module in copy.modules())
    assert sum(isinstance(module, PackedLinear) for module in copy.modules()) == kinds.count(torch.nn.Linear)
    assert isinstance(copy.output_embedding, PackedEmbedding)
    assert copy.output_embedding is copy.target_embedding is copy.source_embedding


def test_what_cannot_be_packed_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = transformer(dtype=torch.float64)
    with torch.no_grad():
        assert torch.equal(packed(exact)(BATCH), exact(BATCH))
    monkeypatch.setattr(room, "can_pack", lambda: False)
    assert packed(exact) is exact


@given(st.integers(1, 40), st.randoms(use_true_random=False))
def test_when_ranks_close_nobody_is_lost_and_only_the_last_move(places: int, random: Random) -> None:
    busy = sorted(random.sample(range(places), random.randint(0, places)))
    closed = _closed_ranks(busy)
    assert sorted(closed) == busy
    for place, was in enumerate(closed):
        assert place == was or (was >= len(busy) and place not in busy)
