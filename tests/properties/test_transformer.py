"""What must be true of the model whatever its weights, its options and its input are."""

from typing import Any

import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional as F

from regard.batches.rows import Batch, Rows, rows_of
from regard.models.fast.dropout import QuickDropout
from regard.models.parts.observation import Head, watch, without
from regard.models.protocols import AttentionName
from regard.models.transformer import Transformer
from small import END, VOCABULARY, options, packed, padded, pairs, sentences, transformer, words


def logits_and_gradients(model: Transformer, batch: Batch) -> tuple[torch.Tensor, list[torch.Tensor]]:
    logits = model(batch)
    real = batch.streams["target"].segments != 0
    loss = F.cross_entropy(logits[real], batch.labels[real], reduction="sum")
    return logits, list(torch.autograd.grad(loss, list(model.parameters()), materialize_grads=True))


@given(sentences.filter(bool), st.lists(words, min_size=2, max_size=7), st.data(), options)
def test_a_word_never_depends_on_the_words_after_it(
    source: list[int], target: list[int], data: Any, settings: dict[str, Any]
) -> None:
    model = transformer(**settings)
    cut = data.draw(st.integers(0, len(target) - 1))
    changed = target[:cut] + data.draw(st.lists(words, min_size=len(target) - cut, max_size=len(target) - cut))
    with torch.no_grad():
        one, other = model(padded([(source, target)])), model(padded([(source, changed)]))
    torch.testing.assert_close(one[:, : cut + 1], other[:, : cut + 1], rtol=0, atol=1e-12)


def test_a_word_does_depend_on_the_words_before_it_and_on_the_source() -> None:
    model = transformer()
    with torch.no_grad():
        one = model(padded([([5, 6], [7, 8, 9])]))
        before, source = model(padded([([5, 6], [10, 8, 9])])), model(padded([([5, 11], [7, 8, 9])]))
    assert (one - before)[0, -1].abs().max() > 1e-3
    assert (one - source)[0, 0].abs().max() > 1e-3


@given(st.lists(st.lists(pairs, min_size=1, max_size=3), min_size=1, max_size=3), st.integers(0, 5), options)
def test_a_packed_sentence_gets_the_logits_and_gradients_that_it_gets_alone(
    rows: list[list[Any]], more: int, settings: dict[str, Any]
) -> None:
    """Neighbours in the row, other rows and padding change nothing: also where no padding stands on one side alone."""
    model = transformer(**settings)
    together = packed(rows)
    longest = max(together.streams["source"].tokens.size(1), together.streams["target"].tokens.size(1))
    together = packed(rows, length=longest + more)
    logits, gradients = logits_and_gradients(model, together)
    assert torch.isfinite(logits).all()
    sums = [torch.zeros_like(gradient) for gradient in gradients]
    for r, row in enumerate(rows):
        end = 0
        for pair in row:
            alone, gradient = logits_and_gradients(model, padded([pair]))
            start, end = end, end + alone.size(1)
            torch.testing.assert_close(logits[r, start:end], alone[0], rtol=0, atol=1e-10)
            sums = [total + part for total, part in zip(sums, gradient, strict=True)]
    for gradient, total in zip(gradients, sums, strict=True):
        torch.testing.assert_close(gradient, total, rtol=1e-9, atol=1e-10)


def test_a_row_full_on_one_side_and_padded_on_the_other_gives_finite_gradients() -> None:
    model = transformer()
    target = rows_of([[[0, 5]]], length=6)
    labels = rows_of([[[5, END]]], length=6).tokens
    batch = Batch({"source": rows_of([[[5, 6, 7, END]]]), "target": target}, labels, target.segments != 0, 2)
    logits, gradients = logits_and_gradients(model, batch)
    assert (batch.streams["source"].segments != 0).all()
    assert torch.isfinite(logits).all()
    assert all(torch.isfinite(gradient).all() for gradient in gradients)


@given(st.permutations(range(6)), options)
def test_without_positions_the_encoder_is_permutation_equivariant(order: list[int], settings: dict[str, Any]) -> None:
    model = transformer(**settings)
    tokens = torch.tensor([[3, 9, 4, 15, 9, 20]])
    segments, nowhere = torch.ones_like(tokens), torch.zeros_like(tokens)
    with torch.no_grad():
        states = model.encode(Rows(tokens, segments, nowhere)).states
        permuted = model.encode(Rows(tokens[:, order], segments, nowhere)).states
        in_place = model.encode(Rows(tokens, segments, torch.arange(6)[None])).states
    torch.testing.assert_close(permuted, states[:, order], rtol=0, atol=1e-12)
    assert (in_place - states).abs().max() > 1e-3


@given(st.lists(st.lists(pairs, min_size=1, max_size=3), min_size=1, max_size=3), options)
def test_the_weights_that_a_looker_sees_sum_to_one_respect_the_masks_and_reproduce_the_output(
    rows: list[list[Any]], settings: dict[str, Any]
) -> None:
    model, batch = transformer(**settings), packed(rows)
    sides = {
        "encoder": (batch.streams["source"], batch.streams["source"]),
        "decoder": (batch.streams["target"], batch.streams["target"]),
    }
    sides["decoder-source"] = (batch.streams["target"], batch.streams["source"])
    outputs: dict[AttentionName, torch.Tensor] = {}
    for name, attention in model.attentions().items():
        attention.output.register_forward_hook(lambda _, __, output, name=name: outputs.__setitem__(name, output))
    with torch.no_grad(), watch(model) as seen:
        model(batch)
    with torch.no_grad():
        for name, (lookup,) in seen.items():
            ones = torch.ones_like(lookup.weights[..., 0])
            torch.testing.assert_close(lookup.weights.sum(-1), ones, rtol=0, atol=1e-12)
            queries, keys = sides[name.kind]
            same = queries.segments[:, :, None] == keys.segments[:, None, :]
            if name.kind == "decoder":
                same &= torch.ones_like(same[0]).tril()
            real = (queries.segments != 0)[:, None, :, None]
            assert (lookup.weights[(real & ~same[:, None]).expand_as(lookup.weights)] == 0).all()
            heads = (lookup.weights @ lookup.value).transpose(1, 2).flatten(2)
            again = model.attentions()[name].output(heads)
            torch.testing.assert_close(again, outputs[name], rtol=0, atol=1e-12)


@given(st.lists(pairs, min_size=1, max_size=3), options)
def test_looking_changes_nothing_and_leaves_nothing(batch: list[Any], settings: dict[str, Any]) -> None:
    model, rows = transformer(**settings), padded(batch)
    with torch.no_grad():
        before = model(rows)
        with watch(model) as seen:
            watched = model(rows)
        after = model(rows)
    torch.testing.assert_close(watched, before, rtol=0, atol=1e-12)
    assert torch.equal(after, before)
    assert all(attention.observer is None for attention in model.attentions().values())
    assert {str(name) for name in seen} == {
        f"{kind}.{layer}" for kind in ("encoder", "decoder", "decoder-source") for layer in (0, 1)
    }


@given(st.lists(pairs, min_size=1, max_size=2))
def test_step_shows_a_looker_the_same_weights_as_forward(batch: list[Any]) -> None:
    model, rows = transformer(), padded(batch)
    with torch.no_grad(), watch(model) as whole:
        model(rows)
    with watch(model) as stepwise:
        state = model.start(model.encode(rows.streams["source"]))
        for t in range(rows.streams["target"].tokens.size(1)):
            _, state = model.step(rows.streams["target"].tokens[:, t], state)
    for name in (name for name in whole if name.kind != "encoder"):
        for t, lookup in enumerate(stepwise[name]):
            real = rows.streams["target"].segments[:, t] != 0
            at_once, stepped = whole[name][0].weights[real, :, t], lookup.weights[real, :, 0]
            both = min(at_once.size(-1), stepped.size(-1))
            torch.testing.assert_close(stepped[..., :both], at_once[..., :both], rtol=0, atol=1e-12)
            assert not stepped[..., both:].any()
            assert not at_once[..., both:].any()


@given(
    st.sampled_from(["encoder", "decoder", "decoder-source"]),
    st.integers(0, 1),
    st.sets(st.integers(0, 3), min_size=1),
    options,
)
def test_a_head_switched_off_equals_its_rows_of_the_output_projection_set_to_zero(
    kind: str, layer: int, heads: set[int], settings: dict[str, Any]
) -> None:
    model, batch = transformer(**settings), padded([([5, 6, 7], [8, 9]), ([4], [3, 2, 6])])
    with torch.no_grad():
        whole = model(batch)
        with without(model, [Head(kind, layer, head) for head in heads]):
            silenced = model(batch)
        for head in heads:
            width = model.settings.d_v
            model.attentions()[AttentionName(kind, layer)].output.weight[:, head * width : (head + 1) * width] = 0.0
        zeroed = model(batch)
    torch.testing.assert_close(silenced, zeroed, rtol=0, atol=1e-12)
    assert (whole - zeroed).abs().max() > 1e-6


def test_there_is_no_limit_to_the_length_of_a_sentence_with_sinusoids() -> None:
    model = transformer(dtype=torch.float32)
    long = [5 + i % (VOCABULARY - 5) for i in range(3000)]
    with torch.no_grad():
        assert torch.isfinite(model(padded([(long, [5, 6])]))).all()


@given(st.sampled_from([0.1, 0.3, 0.5]), st.integers(0, 3), st.sampled_from([(1000, 257), (3, 5, 20001)]))
def test_dropout_drops_its_share_evenly_scales_the_rest_and_its_gradient_alike(
    share: float, seed: int, shape: tuple[int, ...]
) -> None:
    torch.manual_seed(seed)
    dropout, x = QuickDropout(share).train(), torch.rand(shape, requires_grad=True)
    y = dropout(x)
    dropped = y == 0
    assert abs(dropped.float().mean().item() - share) < 0.005
    for part in range(4):  # one random number decides about four values
        assert abs(dropped.flatten()[part::4].float().mean().item() - share) < 0.01
    torch.testing.assert_close(y[~dropped], x[~dropped] / (1 - share), rtol=1e-4, atol=0)
    (gradient,) = torch.autograd.grad(y.sum(), x)
    torch.testing.assert_close(gradient, torch.where(dropped, 0.0, 1 / (1 - share)), rtol=1e-4, atol=0)
    assert not torch.equal(y, dropout(x))
    assert torch.equal(dropout.eval()(x), x)
