"""Training on a CPU without padding against the plain way, in float64."""

import platform
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from regard.batches.rows import Batch
from regard.models.fast import blocks, fast_form
from regard.models.fast.blocks import RealTokens
from regard.models.transformer import Transformer
from regard.training import loss as losses
from regard.training.loss import LeanCrossEntropy, LossOf, ProjectedCrossEntropy, Room, smoothed_cross_entropy
from regard.training.machine.memory import keep_freed_memory
from small import VOCABULARY, options, packed, padded, pairs, transformer


def loss_and_gradients(model: Transformer, batch: Batch) -> tuple[Tensor, list[Tensor]]:
    loss = LossOf(model, label_smoothing=0.1).train()(batch).smoothed
    return loss.detach(), list(torch.autograd.grad(loss, list(model.parameters())))


def both_ways(model: Transformer, batch: Batch) -> tuple[Any, Any]:
    fast = fast_form(model, "training")
    assert list(map(id, fast.parameters())) == list(map(id, model.parameters()))
    return loss_and_gradients(fast, batch), loss_and_gradients(model, batch)


@given(settings=options, rows=st.lists(st.lists(pairs, min_size=1, max_size=3), min_size=1, max_size=4))
def test_without_padding_every_loss_and_gradient_is_the_same(settings: dict[str, Any], rows: Any) -> None:
    model = transformer(**settings, dropout=0.0)
    left_out, plain = both_ways(model, packed(rows))
    torch.testing.assert_close(left_out, plain, rtol=1e-9, atol=1e-9)


def test_sentences_of_very_different_lengths_stand_in_different_blocks_and_none_is_confused() -> None:
    lengths = [(0, 30), (30, 0), (8, 7), (7, 8), (9, 9), (1, 1), (40, 2)]
    batch = padded([([2 + n % (VOCABULARY - 2) for n in range(s)], [3] * t) for s, t in lengths], length=50)
    left_out, plain = both_ways(transformer(dropout=0.0), batch)
    torch.testing.assert_close(left_out, plain, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("number", [1, 7, 32])
def test_tokens_that_make_a_list_round_change_nothing(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    batch = packed([[([2, 3], [4]), ([5], [6, 7, 8])], [([9, 4, 4], [10])]], length=9)
    model = fast_form(transformer(dropout=0.0), "training").train()
    expected = loss_and_gradients(model, batch)
    for module in (blocks, losses):
        monkeypatch.setattr(module, "ROUND", number)
    lists = RealTokens(batch.streams, heads=2, dtype=torch.float64)
    assert len(lists.places["source"]) % number == len(lists.places["target"]) % number == 0
    assert len(lists.places["target"]) - batch.tokens < number
    torch.testing.assert_close(loss_and_gradients(model, batch), expected, rtol=1e-9, atol=1e-9)


def test_padding_has_states_of_zero_and_the_others_those_of_the_plain_way() -> None:
    model, batch = transformer(dropout=0.0), packed([[([2, 3], [4]), ([5], [6, 7, 8])], [([9], [10])]], length=9)
    plain, real = model.eval().states(batch), batch.streams["target"].segments != 0
    states = fast_form(model, "training").train().states(batch)
    assert not states[~real].any()
    torch.testing.assert_close(states[real], plain[real])


def test_an_observer_of_training_sees_the_weights_of_the_plain_model() -> None:
    plain, batch = transformer(dropout=0.0).train(), padded([([2, 3], [4])])
    model = fast_form(plain, "training")
    seen = []
    for attention in model.attentions().values():
        attention.observer = lambda lookup: seen.append(lookup.weights) or lookup.weights  # type: ignore[func-returns-value]
    torch.testing.assert_close(model.states(batch), plain.states(batch))
    assert len(seen) == 6


def test_a_batch_without_a_token_has_a_loss_of_zero() -> None:
    batch = packed([[], []], length=8)
    assert LossOf(fast_form(transformer(), "training"), label_smoothing=0.1).train()(batch).smoothed == 0


@given(
    labels=st.lists(st.integers(0, 6), max_size=40),
    epsilon=st.sampled_from([0.0, 0.1]),
    spread=st.sampled_from([1, 300]),
)
def test_the_lean_cross_entropy_is_the_plain_one_also_where_words_are_all_but_impossible(
    labels: list[int], epsilon: float, spread: int
) -> None:
    logits = spread * torch.randn(len(labels), 7, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    one, other = logits.clone().requires_grad_(), logits.clone().requires_grad_()
    words = torch.tensor(labels, dtype=torch.long)
    lean = LeanCrossEntropy.apply(one * 1, words, epsilon)  # type: ignore[no-untyped-call]
    plain = [sums.sum() for sums in smoothed_cross_entropy(other, words, epsilon)]
    torch.testing.assert_close(list(lean), plain)
    for_one, for_other = (torch.autograd.grad(3 * loss, x)[0] for loss, x in ((lean[0], one), (plain[0], other)))
    torch.testing.assert_close(for_one, for_other)


@pytest.mark.parametrize("rows", [1, 7, 100])
def test_the_lean_cross_entropy_of_rounded_logits_is_computed_in_float32_a_few_rows_at_a_time(
    rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(losses, "_IN_CACHE", rows * 50)
    torch.manual_seed(1)
    logits, words = (3 * torch.randn(23, 50)).bfloat16(), torch.randint(0, 50, (23,))
    one, other = logits.clone().requires_grad_(), logits.float().requires_grad_()
    lean = LeanCrossEntropy.apply(one * 1, words, 0.1)  # type: ignore[no-untyped-call]
    plain = [sums.sum() for sums in smoothed_cross_entropy(other, words, 0.1)]
    torch.testing.assert_close(list(lean), plain)
    for_one, for_other = (torch.autograd.grad(0.3 * loss, x)[0] for loss, x in ((lean[0], one), (plain[0], other)))
    assert for_one.dtype == torch.bfloat16
    torch.testing.assert_close(for_one.float(), for_other, rtol=2**-7, atol=0)  # rounded twice


@given(labels=st.lists(st.integers(0, 6), max_size=40), beyond=st.integers(0, 3))
def test_the_projected_cross_entropy_is_that_of_the_product_and_what_has_no_label_counts_for_nothing(
    labels: list[int], beyond: int
) -> None:
    drawn = torch.Generator().manual_seed(len(labels))
    states = torch.randn(len(labels) + beyond, 4, generator=drawn, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(7, 4, generator=drawn, dtype=torch.float64, requires_grad=True)
    words, room = torch.tensor(labels, dtype=torch.long), Room()
    ProjectedCrossEntropy.apply(states, weight, words.flip(0), 0.1, room)  # type: ignore[no-untyped-call]
    projected = ProjectedCrossEntropy.apply(states, weight, words, 0.1, room)  # type: ignore[no-untyped-call]
    plain = [sums.sum() for sums in smoothed_cross_entropy((states @ weight.t())[: len(labels)], words, 0.1)]
    torch.testing.assert_close(list(projected), plain)
    found, expected = (torch.autograd.grad(3 * loss, (states, weight)) for loss in (projected[0], plain[0]))
    assert not found[0][len(labels) :].any()
    torch.testing.assert_close(found, expected)


def test_the_room_for_logits_is_kept_as_long_as_it_suffices() -> None:
    room = Room()
    first = room.take(6, 5, torch.float32)
    assert first.shape == (6, 5)
    assert room.take(3, 5, torch.float32).data_ptr() == first.data_ptr()
    assert room.take(7, 5, torch.float32).shape == (7, 5)
    assert room.take(2, 5, torch.bfloat16).dtype == torch.bfloat16


def test_freed_memory_is_kept_with_glibc_and_asking_twice_changes_nothing() -> None:
    glibc = platform.libc_ver()[0] == "glibc"
    assert [keep_freed_memory(), keep_freed_memory()] == [glibc, glibc]


@pytest.mark.parametrize("largest", [2**30, 2**25, 0])
def test_an_older_glibc_keeps_smaller_blocks_and_a_refusal_is_reported(
    largest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    accepted: dict[int, int] = {}

    def mallopt(name: int, value: int) -> int:
        if name == -3 and value > largest:
            return 0
        accepted[name] = value
        return 1

    monkeypatch.setattr("ctypes.CDLL", lambda _: SimpleNamespace(mallopt=mallopt))
    assert keep_freed_memory() is bool(largest)
    assert accepted == ({-3: largest, -1: 2**31 - 1} if largest else {})


def test_without_glibc_freed_memory_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ctypes.CDLL", lambda _: SimpleNamespace())
    assert not keep_freed_memory()
