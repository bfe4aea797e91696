"""Rotary positions: attention turns queries and keys by their places, in all three of its kinds."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from regard import SettingsError
from regard.batches.rows import Batch
from regard.models.parts.positions import Rotation
from regard.models.transformer import Transformer, TransformerSettings
from small import packed, padded, transformer


def rotary(**settings: Any) -> Transformer:
    return transformer(positions="rotary", rotary_base=100.0, **settings)


def moved(batch: Batch, *, source: int, target: int) -> Batch:
    """The same words, so many places further on."""
    further = {"source": source, "target": target}
    moved = {name: rows._replace(positions=rows.positions + further[name]) for name, rows in batch.streams.items()}
    return batch._replace(streams=moved)


def test_a_position_turns_each_pair_of_numbers_by_its_own_angle() -> None:
    rotation = Rotation(4, base=100.0)
    x = torch.tensor([[1.0, 0.0, 0.0, 2.0]]).repeat(2, 2)  # two heads; the pairs are (1, 0) and (0, 2)
    expected = [math.cos(3), -2 * math.sin(0.3), math.sin(3), 2 * math.cos(0.3)]
    rotated = rotation(x, torch.tensor([0, 3]), 2)
    assert rotated[0].tolist() == x[0].tolist()
    assert rotated[1].tolist() == pytest.approx([*expected, *expected], abs=1e-6)


def test_nothing_is_added_to_words() -> None:
    model = rotary()
    batch = padded([([5, 6, 7], [8, 9])])
    source, target = model.source_embedding(batch.streams["source"].tokens), batch.streams["target"]
    assert torch.equal(model.source_positions(source, batch.streams["source"].positions), source)
    embedded = model.embed_target(target.tokens, target.positions)
    assert torch.equal(embedded[:, 1:], model.target_embedding(target.tokens)[:, 1:])
    assert not [name for name, _ in model.named_parameters() if "positions" in name]


def test_only_distances_count_and_they_do_in_attention_over_the_source_too() -> None:
    model = rotary(start="token").double()
    batch = packed([[([5, 6, 7, 8], [9, 10, 11]), ([12, 5], [6, 7]), ([8, 9, 10], [12, 11, 5, 7])]])
    with torch.no_grad():
        here, there = model(batch), model(moved(batch, source=4, target=4))
        torch.testing.assert_close(there, here, atol=1e-5, rtol=0)
        assert (model(moved(batch, source=4, target=0)) - here).abs().max() > 1e-3
        encoded = [model.encode(rows.streams["source"]).states for rows in (batch, moved(batch, source=7, target=0))]
        torch.testing.assert_close(*encoded, atol=1e-5, rtol=0)


def test_the_order_of_words_matters() -> None:
    model = rotary()
    with torch.no_grad():
        one, other = (model(padded([(source, [9, 10])])) for source in ([5, 6, 7], [7, 6, 5]))
    assert (one - other).abs().max() > 1e-3


def test_rotary_positions_need_pairs_and_a_base_above_one() -> None:
    sizes = {"source_vocabulary": 9, "target_vocabulary": 9}
    with pytest.raises(SettingsError, match="d_k = 3 is odd; rotary positions turn pairs of numbers"):
        TransformerSettings.read({**sizes, "positions": "rotary", "d_k": 3, "d_v": 3}, where="model")
    with pytest.raises(SettingsError, match=r"rotary_base"):
        TransformerSettings.read({**sizes, "positions": "rotary", "rotary_base": 1.0}, where="model")
    odd = {**sizes, "positions": "rotary", "d_model": 15, "d_k": 4, "d_v": 5}
    assert TransformerSettings.read(odd, where="model").d_model == 15  # sinusoids need an even one, these do not
