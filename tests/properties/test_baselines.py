"""What must be true of every architecture that the Transformer replaced, whatever its weights and its input are."""

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional as F

from baselines import ATTENDING, MODELS, model
from regard.batches.rows import Batch, Rows
from regard.models.parts.observation import Head, watch, without
from small import padded, pairs, sentences, words

few = settings(max_examples=8)


def logits_and_gradients(of: Any, batch: Batch) -> tuple[torch.Tensor, list[torch.Tensor]]:
    logits = of(batch)
    real = batch.streams["target"].segments != 0
    loss = F.cross_entropy(logits[real], batch.labels[real], reduction="sum")
    return logits, list(torch.autograd.grad(loss, list(of.parameters()), materialize_grads=True))


@pytest.mark.parametrize("name", MODELS)
@few
@given(sentences.filter(bool), st.lists(words, min_size=2, max_size=7), st.data())
def test_a_word_never_depends_on_the_words_after_it(name: str, source: list[int], target: list[int], data: Any) -> None:
    cut = data.draw(st.integers(0, len(target) - 1))
    changed = target[:cut] + data.draw(st.lists(words, min_size=len(target) - cut, max_size=len(target) - cut))
    with torch.no_grad():
        one, other = model(name)(padded([(source, target)])), model(name)(padded([(source, changed)]))
    torch.testing.assert_close(one[:, : cut + 1], other[:, : cut + 1], rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", MODELS)
def test_a_word_does_depend_on_the_words_before_it_and_on_the_source(name: str) -> None:
    small = model(name)
    with torch.no_grad():
        one = small(padded([([5, 6], [7, 8, 9])]))
        before, source = small(padded([([5, 6], [10, 8, 9])])), small(padded([([5, 11], [7, 8, 9])]))
    assert (one - before)[0, -1].abs().max() > 1e-4
    assert (one - source)[0, 0].abs().max() > 1e-4


@pytest.mark.parametrize("name", MODELS)
@few
@given(st.lists(pairs, min_size=1, max_size=4), st.integers(0, 5), st.booleans())
def test_neighbours_and_padding_change_neither_logits_nor_gradients(
    name: str, batch: list[Any], more: int, an_empty_row: bool
) -> None:
    small = model(name)
    longest = max(len(side) + 1 for pair in batch for side in pair)
    together = padded(batch, length=longest + more)
    if an_empty_row:  # as the loader makes them, where sentences do not fill a batch
        streams = {name: Rows(*map(_with_an_empty_row, rows)) for name, rows in together.streams.items()}
        labels, labelled = map(_with_an_empty_row, (together.labels, together.labelled))
        together = Batch(streams, labels, labelled, together.tokens)
    logits, gradients = logits_and_gradients(small, together)
    assert torch.isfinite(logits).all()
    sums = [torch.zeros_like(gradient) for gradient in gradients]
    for row, pair in enumerate(batch):
        alone, gradient = logits_and_gradients(small, padded([pair]))
        torch.testing.assert_close(logits[row, : alone.size(1)], alone[0], rtol=0, atol=1e-10)
        sums = [total + part for total, part in zip(sums, gradient, strict=True)]
    for gradient, total in zip(gradients, sums, strict=True):
        torch.testing.assert_close(gradient, total, rtol=1e-8, atol=1e-9)


def _with_an_empty_row(tensor: torch.Tensor) -> torch.Tensor:
    return F.pad(tensor, (0, 0, 0, 1))


@pytest.mark.parametrize("name", ATTENDING)
@few
@given(st.lists(pairs, min_size=1, max_size=3))
def test_the_weights_that_a_looker_sees_sum_to_one_and_respect_the_masks(name: str, batch: list[Any]) -> None:
    small, rows = model(name), padded(batch)
    with torch.no_grad():
        before = small(rows)
        with watch(small) as seen:
            watched = small(rows)
    torch.testing.assert_close(watched, before, rtol=0, atol=1e-12)
    assert all(attention.observer is None for attention in small.attentions().values())
    assert {str(key) for key in seen} == {
        f"decoder-source.{layer}" for layer in range(3 if name.startswith("convs2s") else 1)
    }
    for lookups in seen.values():
        weights = torch.cat([lookup.weights for lookup in lookups], dim=2)
        assert weights.shape == (
            len(batch),
            1,
            rows.streams["target"].tokens.size(1),
            rows.streams["source"].tokens.size(1),
        )
        torch.testing.assert_close(weights.sum(-1), torch.ones_like(weights[..., 0]), rtol=0, atol=1e-12)
        nothing = (rows.streams["source"].segments == 0)[:, None, None].expand_as(weights)
        assert (weights[nothing] == 0).all()


@pytest.mark.parametrize("name", ATTENDING)
def test_step_shows_a_looker_the_same_weights_as_forward(name: str) -> None:
    small, rows = model(name), padded([([5, 6, 7], [8, 9]), ([4], [3, 2, 6])])
    with torch.no_grad(), watch(small) as whole:
        small(rows)
    with watch(small) as stepwise:
        state = small.start(small.encode(rows.streams["source"]))
        for t in range(rows.streams["target"].tokens.size(1)):
            _, state = small.step(rows.streams["target"].tokens[:, t], state)
    for key in whole:
        together, one_by_one = (torch.cat([look.weights for look in seen[key]], dim=2) for seen in (whole, stepwise))
        real = (rows.streams["target"].segments != 0)[:, None, :, None].expand_as(together)
        torch.testing.assert_close(one_by_one[real], together[real], rtol=0, atol=1e-10)


@pytest.mark.parametrize("name", ATTENDING)
def test_attention_that_is_switched_off_no_longer_says_where_the_word_is(name: str) -> None:
    small, rows = model(name), padded([([5, 6, 7], [8, 9])])
    with torch.no_grad(), without(small, [Head("decoder-source", 0, 0)]):
        silenced = small(rows)
    with torch.no_grad():
        assert (small(rows) - silenced).abs().max() > 1e-4


def test_models_without_attention_say_so() -> None:
    assert [name for name in MODELS if not model(name).attentions()] == [
        "rnn", "lstm", "bytenet", "bytenet-unfolded", "neural-gpu",
    ]  # fmt: skip
