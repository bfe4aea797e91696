"""Our stacks against torch.nn's layers with copied weights, in float64."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from regard.models.transformer import MultiHeadAttention, Transformer
from small import sight, transformer

SEGMENTS = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]])


def copy_attention(ours: MultiHeadAttention, theirs: nn.MultiheadAttention) -> None:
    theirs.in_proj_weight.copy_(torch.cat([ours.query.weight, ours.key.weight, ours.value.weight]))
    theirs.in_proj_bias.copy_(torch.cat([ours.query.bias, ours.key.bias, ours.value.bias]))
    theirs.out_proj.load_state_dict(ours.output.state_dict())


@torch.no_grad()
def copy_layer(ours: Any, theirs: Any) -> None:
    copy_attention(ours.self_attention, theirs.self_attn)
    theirs.norm1.load_state_dict(ours.self_attention_residual.norm.state_dict())
    last = theirs.norm2
    if hasattr(ours, "source_attention"):
        copy_attention(ours.source_attention, theirs.multihead_attn)
        theirs.norm2.load_state_dict(ours.source_attention_residual.norm.state_dict())
        last = theirs.norm3
    last.load_state_dict(ours.feed_forward_residual.norm.state_dict())
    theirs.linear1.load_state_dict(ours.feed_forward.inner.state_dict())
    theirs.linear2.load_state_dict(ours.feed_forward.outer.state_dict())


def torch_stacks(model: Transformer) -> tuple[nn.TransformerEncoder, nn.TransformerDecoder]:
    settings = model.settings
    pre = settings.norm == "pre"

    def layer(kind: Any) -> Any:
        return kind(
            settings.d_model, settings.heads, settings.d_ff, dropout=0.0, activation=settings.activation,
            batch_first=True, norm_first=pre, dtype=torch.float64,
        )  # fmt: skip

    encoder = nn.TransformerEncoder(
        layer(nn.TransformerEncoderLayer), settings.encoder_layers,
        norm=nn.LayerNorm(settings.d_model, dtype=torch.float64) if pre else None, enable_nested_tensor=False,
    )  # fmt: skip
    decoder = nn.TransformerDecoder(
        layer(nn.TransformerDecoderLayer), settings.decoder_layers,
        norm=nn.LayerNorm(settings.d_model, dtype=torch.float64) if pre else None,
    )  # fmt: skip
    for ours, theirs in ((model.encoder, encoder), (model.decoder, decoder)):
        for our_layer, their_layer in zip(ours.layers, theirs.layers, strict=True):
            copy_layer(our_layer, their_layer)
        if pre:
            theirs.norm.load_state_dict(ours.norm.state_dict())
    return encoder, decoder


def gradients(output: Tensor, *inputs: Tensor) -> tuple[Tensor, ...]:
    torch.manual_seed(1)
    return torch.autograd.grad((output * torch.randn_like(output)).sum(), inputs)


@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_the_stacks_equal_those_of_torch_in_outputs_and_gradients(norm: str, activation: str) -> None:
    model = transformer(norm=norm, activation=activation, attention_bias=True).train()
    for dropout in (module for module in model.modules() if isinstance(module, nn.Dropout)):
        dropout.p = 0.0
    encoder, decoder = torch_stacks(model)
    x = torch.randn(2, 5, 16, dtype=torch.float64, requires_grad=True)
    y = torch.randn(2, 4, 16, dtype=torch.float64, requires_grad=True)
    target = torch.ones(2, 4, dtype=torch.long)

    memory = model.encoder(x, sight(SEGMENTS, SEGMENTS))
    ours = model.decoder(y, memory, sight(target, target, backwards=True), sight(target, SEGMENTS))

    padding = SEGMENTS == 0
    their_memory = encoder(x, src_key_padding_mask=padding)
    theirs = decoder(y, their_memory, tgt_mask=torch.ones(4, 4).triu(1).bool(), memory_key_padding_mask=padding)

    real = SEGMENTS != 0
    torch.testing.assert_close(memory[real], their_memory[real], rtol=0, atol=1e-10)
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-10)
    weights = model.decoder.layers[0].source_attention.output.weight, model.encoder.layers[0].feed_forward.inner.weight
    their_weights = decoder.layers[0].multihead_attn.out_proj.weight, encoder.layers[0].linear1.weight
    for mine, other in zip(gradients(ours, x, y, *weights), gradients(theirs, x, y, *their_weights), strict=True):
        torch.testing.assert_close(mine, other, rtol=0, atol=1e-10)
