"""A Transformer's weights under the names of `transformers`' MarianMTModel, and back: the same function, number by
number.

Marian's sinusoids have all sines before all cosines. The paper's alternate. Permuting the residual dimension, evens
before odds, wherever weights read or write it turns one into the other exactly; no number changes.

Shapes: D = d_model, V the vocabulary.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from regard.models.parts.transformer_settings import TransformerSettings

FORBIDDEN = -10_000.0  # the bias of a token that is never generated; it fits into half precision

SHARED = "model.shared.weight"
ENCODER, DECODER = "model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight"
OUTPUT, OUTPUT_BIAS = "lm_head.weight", "final_logits_bias"
ENCODER_POSITIONS = "model.encoder.embed_positions.weight"
DECODER_POSITIONS = "model.decoder.embed_positions.weight"

_PARTS = {
    "self_attention.query": "self_attn.q_proj",
    "self_attention.key": "self_attn.k_proj",
    "self_attention.value": "self_attn.v_proj",
    "self_attention.output": "self_attn.out_proj",
    "self_attention_residual.norm": "self_attn_layer_norm",
    "source_attention.query": "encoder_attn.q_proj",
    "source_attention.key": "encoder_attn.k_proj",
    "source_attention.value": "encoder_attn.v_proj",
    "source_attention.output": "encoder_attn.out_proj",
    "source_attention_residual.norm": "encoder_attn_layer_norm",
    "feed_forward.inner": "fc1",
    "feed_forward.outer": "fc2",
    "feed_forward_residual.norm": "final_layer_norm",
}
_LAYER = re.compile(r"((?:encoder|decoder)\.layers\.\d+)\.(.+)\.(weight|bias)")
_READS = ("query.weight", "key.weight", "value.weight", "inner.weight")
_WRITES = ("attention.output.weight", "attention.output.bias", "outer.weight", "outer.bias", "norm.weight", "norm.bias")


def marian_name(name: str) -> str:
    """Marian's name for a weight of a layer."""
    found = _LAYER.fullmatch(name)
    assert found, name
    return f"model.{found[1]}.{_PARTS[found[2]]}.{found[3]}"


def layer_names(encoder_layers: int, decoder_layers: int) -> list[str]:
    """The weights of all layers, with attention's biases."""
    stacks = (("encoder", encoder_layers), ("decoder", decoder_layers))
    return [
        f"{stack}.layers.{layer}.{part}.{kind}"
        for stack, layers in stacks
        for layer in range(layers)
        for part in _PARTS
        for kind in ("weight", "bias")
        if stack == "decoder" or not part.startswith("source_attention")
    ]


def in_halves(weights: Mapping[str, Tensor], width: int) -> dict[str, Tensor]:
    """The weights for sinusoids in halves, of weights for interleaved ones."""
    return _permuted(weights, torch.cat([torch.arange(0, width, 2), torch.arange(1, width, 2)]))


def interleaved(weights: Mapping[str, Tensor], width: int) -> dict[str, Tensor]:
    """And back."""
    order = torch.cat([torch.arange(0, width, 2), torch.arange(1, width, 2)])
    return _permuted(weights, order.argsort())


def _permuted(weights: Mapping[str, Tensor], order: Tensor) -> dict[str, Tensor]:
    found = {}
    for name, weight in weights.items():
        if name.endswith(_READS) or "embedding" in name:
            found[name] = weight[:, order]
        else:
            found[name] = weight[order] if name.endswith(_WRITES) else weight
    return found


_Ids = tuple[list[int], int]  # [Marian's id] Regard's, and Marian's id of the padding token


def to_marian(
    weights: Mapping[str, Tensor],
    settings: TransformerSettings,
    *,
    source: Sequence[int],
    target: Sequence[int],
    padding: tuple[int, int],
) -> dict[str, Tensor]:
    """Regard's weights as Marian's; `source` and `target` have Regard's id for each of Marian's.

    `padding` has Marian's id of the padding token on each side.
    """
    if settings.positions == "interleaved":
        weights = in_halves(weights, settings.d_model)
    found: dict[str, Tensor] = {}
    for name in layer_names(settings.encoder_layers, settings.decoder_layers):
        weight = weights.get(name)
        width = settings.d_model  # of attention's biases, where Regard has none
        found[marian_name(name)] = torch.zeros(width) if weight is None else weight
    found |= _embeddings(weights, settings, (list(source), padding[0]), (list(target), padding[1]))
    bias = weights.get("output_bias", torch.zeros(settings.target_vocabulary))[list(target)].clone()
    bias[padding[1]] = FORBIDDEN
    found[OUTPUT_BIAS] = bias[None]
    return {name: weight.contiguous() for name, weight in found.items()}


def _embeddings(
    weights: Mapping[str, Tensor], settings: TransformerSettings, source: _Ids, target: _Ids
) -> dict[str, Tensor]:
    """One matrix, two or three, each under the name that Marian gives to what it shares."""

    def read(name: str, side: _Ids) -> Tensor:
        ids, padding = side
        rows = weights[name][ids].clone()
        if settings.start == "zero":
            rows[padding] = 0.0
        return rows

    tied = settings.tied_embeddings
    if tied == "all":
        return {SHARED: read("source_embedding.weight", source)}
    found = {ENCODER: read("source_embedding.weight", source)}
    of_target = "source_embedding.weight" if tied == "source-target" else "target_embedding.weight"
    found[DECODER] = read(of_target, target)
    if tied != "target-output":
        found[OUTPUT] = weights["output_embedding.weight"][target[0]]
    return found
