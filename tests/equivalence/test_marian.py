"""The whole model against `transformers`' MarianMTModel with random weights, in float64."""

from typing import Any

import pytest
import torch
from torch import nn

from regard.models.transformer import MultiHeadAttention, Transformer
from small import VOCABULARY, padded, transformer

transformers = pytest.importorskip("transformers")

PAIRS = [([5, 6, 7, 8], [9, 10]), ([3, 4], [11, 12, 13, 14, 15]), ([2], [])]


def marian(model: Transformer) -> Any:
    """A MarianMTModel with the weights of `model`."""
    settings = model.settings
    config = transformers.MarianConfig(
        vocab_size=VOCABULARY, d_model=settings.d_model, encoder_layers=2, decoder_layers=2,
        encoder_attention_heads=settings.heads, decoder_attention_heads=settings.heads,
        encoder_ffn_dim=settings.d_ff, decoder_ffn_dim=settings.d_ff, activation_function=settings.activation,
        scale_embedding=True, dropout=0.0, max_position_embeddings=32, pad_token_id=0, eos_token_id=1,
        decoder_start_token_id=0, forced_eos_token_id=1,
    )  # fmt: skip
    theirs = transformers.MarianMTModel(config).double().eval()
    with torch.no_grad():
        theirs.model.shared.weight.copy_(model.source_embedding.weight)
        theirs.final_logits_bias.copy_(model.output_bias)
        for ours, stack in ((model.encoder, theirs.model.encoder), (model.decoder, theirs.model.decoder)):
            positions = stack.embed_positions.weight
            positions.copy_(model.source_positions(torch.zeros_like(positions)[None], torch.arange(32)[None])[0])
            for our_layer, their_layer in zip(ours.layers, stack.layers, strict=True):
                copy_layer(our_layer, their_layer)
    return theirs


def copy_layer(ours: Any, theirs: Any) -> None:
    def attention(mine: MultiHeadAttention, other: Any) -> None:
        for name, linear in (("q", mine.query), ("k", mine.key), ("v", mine.value), ("out", mine.output)):
            getattr(other, f"{name}_proj").load_state_dict(linear.state_dict())

    attention(ours.self_attention, theirs.self_attn)
    theirs.self_attn_layer_norm.load_state_dict(ours.self_attention_residual.norm.state_dict())
    if hasattr(ours, "source_attention"):
        attention(ours.source_attention, theirs.encoder_attn)
        theirs.encoder_attn_layer_norm.load_state_dict(ours.source_attention_residual.norm.state_dict())
    theirs.fc1.load_state_dict(ours.feed_forward.inner.state_dict())
    theirs.fc2.load_state_dict(ours.feed_forward.outer.state_dict())
    theirs.final_layer_norm.load_state_dict(ours.feed_forward_residual.norm.state_dict())


def assert_equal_logits(ours: Transformer, theirs: Any) -> None:
    batch = padded(PAIRS)
    with torch.no_grad():
        mine = ours(batch)
        other = theirs(
            input_ids=batch.streams["source"].tokens,
            attention_mask=(batch.streams["source"].segments != 0).long(),
            decoder_input_ids=batch.streams["target"].tokens,
        ).logits
    real = batch.streams["target"].segments != 0
    torch.testing.assert_close(mine[real], other[real], rtol=0, atol=1e-9)


@pytest.mark.parametrize("activation", ["relu", "swish", "gelu"])
def test_with_positions_in_halves_it_is_marian(activation: str) -> None:
    model = transformer(positions="halves", activation=activation, attention_bias=True, output_bias=True, start="token")
    assert_equal_logits(model, marian(model))


def test_a_start_from_zero_is_marian_with_a_padding_row_of_zeros() -> None:
    model = transformer(positions="halves", attention_bias=True, output_bias=True, start="zero")
    theirs = marian(model)
    with torch.no_grad():
        theirs.model.shared.weight[0] = 0.0
        theirs.lm_head.weight = nn.Parameter(model.output_embedding.weight.clone())
    assert_equal_logits(model, theirs)


def in_halves(model: Transformer) -> Transformer:
    """The same function with the residual dimension permuted: even dimensions first, then the odd ones."""
    halves = transformer(**(model.settings.model_dump() | {"positions": "halves"}))
    width = model.settings.d_model
    order = torch.cat([torch.arange(0, width, 2), torch.arange(1, width, 2)])
    reads = ("query.weight", "key.weight", "value.weight", "inner.weight", "embedding.weight")
    writes = (
        "attention.output.weight",
        "attention.output.bias",
        "outer.weight",
        "outer.bias",
        "norm.weight",
        "norm.bias",
    )
    with torch.no_grad():
        for (name, mine), other in zip(model.named_parameters(), halves.parameters(), strict=True):
            if name.endswith(reads):
                other.copy_(mine[:, order])
            elif name.endswith(writes):
                other.copy_(mine[order])
            else:
                other.copy_(mine)
    return halves


def test_the_papers_interleaved_model_carried_over_to_halves_is_marian() -> None:
    model = transformer(positions="interleaved", attention_bias=True, output_bias=True, start="token")
    assert_equal_logits(model, marian(in_halves(model)))
