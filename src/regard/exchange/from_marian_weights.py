"""MarianMTModel's weights as those of Regard's Transformer: the opposite of `marian_weights.py`, for any such model.

Regard's defaults are the paper's; what a Marian model has beside them becomes settings: sinusoids in halves, biases of
attention and of the output, swish. Where Regard has one number for both stacks, or scales embeddings always, weights
are changed so that the function stays the same.

Shapes: D = d_model, F the width of a feed-forward network, V a vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from pathlib import Path

import torch
from pydantic import NonNegativeInt, PositiveInt
from torch import Tensor
from torch.nn import functional as F

from regard.errors import ModelFolderError
from regard.exchange.marian_weights import (
    DECODER,
    DECODER_POSITIONS,
    ENCODER,
    ENCODER_POSITIONS,
    FORBIDDEN,
    OUTPUT,
    OUTPUT_BIAS,
    SHARED,
    layer_names,
    marian_name,
)
from regard.models.parts.transformer_settings import TransformerSettings
from regard.models.transformer import Sinusoids
from regard.settings import Settings

_MATRICES = ("source_embedding.weight", "target_embedding.weight", "output_embedding.weight")
_CLOSE = 1e-4  # stored sinusoids are those of a formula, if they differ less


class MarianConfig(Settings):
    """What config.json says of a model's function; other keys have no influence on it."""

    vocab_size: PositiveInt
    decoder_vocab_size: PositiveInt
    d_model: PositiveInt
    encoder_layers: PositiveInt
    decoder_layers: PositiveInt
    encoder_attention_heads: PositiveInt
    decoder_attention_heads: PositiveInt
    encoder_ffn_dim: PositiveInt
    decoder_ffn_dim: PositiveInt
    activation_function: str
    dropout: float | int = 0.1
    scale_embedding: bool = False
    share_encoder_decoder_embeddings: bool = True
    tie_word_embeddings: bool = True
    max_position_embeddings: PositiveInt = 1024
    decoder_start_token_id: NonNegativeInt
    eos_token_id: NonNegativeInt


ACTIVATIONS = {"relu": "relu", "gelu": "gelu", "swish": "swish", "silu": "swish"}


def from_marian(
    tensors: Mapping[str, Tensor], config: MarianConfig, *, forbidden: Collection[int], path: Path
) -> tuple[TransformerSettings, dict[str, Tensor]]:
    """The settings and weights of the same function; tokens of `forbidden` are never generated."""
    stacks = _layers(tensors, config, path)
    source, target, output = _matrices(tensors, config, path)
    positions, tables = _positions(tensors, config)
    bias = tensors.get(OUTPUT_BIAS, torch.zeros(1, target.size(0))).float().flatten().clone()
    _check_shape(OUTPUT_BIAS, bias, [target.size(0)], path)
    bias[list(forbidden)] = FORBIDDEN
    table = {
        "source_vocabulary": source.size(0),
        "target_vocabulary": target.size(0),
        "encoder_layers": config.encoder_layers,
        "decoder_layers": config.decoder_layers,
        "d_model": config.d_model,
        "d_ff": max(config.encoder_ffn_dim, config.decoder_ffn_dim),
        "heads": config.encoder_attention_heads,
        "dropout": min(float(config.dropout), 0.99),
        "activation": ACTIVATIONS[config.activation_function],
        "positions": positions,
        "attention_bias": any(bool(weight.any()) for name, weight in stacks.items() if _is_attention_bias(name)),
        "output_bias": bool(bias.any()),
        "tied_embeddings": _tied(source, target, output),
        "start": "token" if bool(target[config.decoder_start_token_id].any()) else "zero",
        **({"learned_positions": len(tables[0])} if tables else {}),
    }
    settings = TransformerSettings.read(table, where=str(path))
    weights = {
        name: weight for name, weight in stacks.items() if settings.attention_bias or not _is_attention_bias(name)
    }
    weights |= _named_matrices(settings, source, target, output)
    if settings.output_bias:
        weights["output_bias"] = bias
    if tables:
        weights |= {"source_positions.weight": tables[0], "target_positions.weight": tables[1]}
    return settings, weights


def _is_attention_bias(name: str) -> bool:
    return "_attention." in name and name.endswith("bias")


def _layers(tensors: Mapping[str, Tensor], config: MarianConfig, path: Path) -> dict[str, Tensor]:
    """The weights of all layers under Regard's names, feed-forward networks as wide as the wider stack's."""
    for stack, layers in (("encoder", config.encoder_layers), ("decoder", config.decoder_layers)):
        prefix = f"model.{stack}.layers."
        stored = {name[len(prefix) :].split(".")[0] for name in tensors if name.startswith(prefix)}
        if stored != set(map(str, range(min(layers, len(stored) + 1)))):
            raise ModelFolderError(
                f"{path}: config.json declares {layers} layers of the {stack}, but {len(stored)} are stored.\n"
                "  The folder is damaged. Copy it again from its origin."
            )
    widest = max(config.encoder_ffn_dim, config.decoder_ffn_dim)
    found = {}
    for name in layer_names(config.encoder_layers, config.decoder_layers):
        weight = tensors.get(marian_name(name))
        own = config.encoder_ffn_dim if name.startswith("encoder") else config.decoder_ffn_dim
        if weight is None:
            raise ModelFolderError(f"{path}: {marian_name(name)} is missing.\n  Copy the folder again from its origin.")
        _check_shape(marian_name(name), weight, _shape(name, config.d_model, own), path)
        found[name] = _widened(name, weight.float(), widest - own)
    return found


def _shape(name: str, width: int, inner: int) -> list[int]:
    if name.endswith("inner.weight"):
        return [inner, width]
    if name.endswith("outer.weight"):
        return [width, inner]
    if name.endswith("inner.bias"):
        return [inner]
    return [width, width] if name.endswith("weight") and "norm" not in name else [width]


def _widened(name: str, weight: Tensor, more: int) -> Tensor:
    """Zeros for the inner units that the other stack has and this one has not; they add nothing."""
    if not more:
        return weight
    if name.endswith("inner.weight"):
        return F.pad(weight, (0, 0, 0, more))
    return F.pad(weight, (0, more)) if name.endswith(("inner.bias", "outer.weight")) else weight


def _matrices(tensors: Mapping[str, Tensor], config: MarianConfig, path: Path) -> tuple[Tensor, Tensor, Tensor]:
    """The embeddings of source, target and output: [V, D] each, the very same tensor where they are shared."""

    def first(*names: str) -> Tensor:
        for name in names:
            if name in tensors:
                return tensors[name]
        raise ModelFolderError(f"{path}: {names[0]} is missing.\n  Copy the folder again from its origin.")

    shared, tied = config.share_encoder_decoder_embeddings, config.tie_word_embeddings
    source = first(SHARED, ENCODER, DECODER, OUTPUT) if shared and tied else first(ENCODER, SHARED)
    target = source if shared and tied else first(DECODER, OUTPUT if tied else SHARED, SHARED)
    output = target if tied else first(OUTPUT)
    vocabulary = config.vocab_size if shared else config.decoder_vocab_size
    _check_shape("the source embedding", source, [config.vocab_size, config.d_model], path)
    _check_shape("the target embedding", target, [vocabulary, config.d_model], path)
    _check_shape("the output embedding", output, [vocabulary, config.d_model], path)
    read, said, out = source.float(), target.float(), output.float()
    if not config.scale_embedding:
        read, said = read / math.sqrt(config.d_model), said / math.sqrt(config.d_model)
    return read, said, out


def _tied(source: Tensor, target: Tensor, output: Tensor) -> str:
    """Which matrices are one; equal numbers are enough."""
    one, other = _same(source, target), _same(target, output)
    if one:
        return "all" if other else "source-target"
    return "target-output" if other else "none"


def _same(one: Tensor, other: Tensor) -> bool:
    return one is other or (one.shape == other.shape and torch.equal(one, other))


def _named_matrices(settings: TransformerSettings, source: Tensor, target: Tensor, output: Tensor) -> dict[str, Tensor]:
    """Each matrix once, under the name of its first use."""
    found = dict(zip(_MATRICES, (source, target, output), strict=True))
    shared = {"all": _MATRICES[1:], "source-target": _MATRICES[1:2], "target-output": _MATRICES[2:], "none": ()}
    return {name: matrix for name, matrix in found.items() if name not in shared[settings.tied_embeddings]}


def _positions(tensors: Mapping[str, Tensor], config: MarianConfig) -> tuple[str, tuple[Tensor, ...]]:
    """Sinusoids in halves; positions that are stored and are no sinusoids count as learned."""
    stored = [tensors[name].float() for name in (ENCODER_POSITIONS, DECODER_POSITIONS) if name in tensors]
    if not stored:
        return "halves", ()
    expected = Sinusoids(config.d_model, interleaved=False).encodings(torch.arange(len(stored[0])))
    usual = all(
        table.shape == expected.shape and bool((table.double() - expected).abs().max() < _CLOSE) for table in stored
    )
    return ("halves", ()) if usual else ("learned", (stored[0], stored[-1]))


def _check_shape(name: str, tensor: Tensor, expected: list[int], path: Path) -> None:
    if list(tensor.shape) != expected:
        raise ModelFolderError(
            f"{path}: {name} is {list(tensor.shape)}, and by config.json it should be {expected}.\n"
            "  The folder is damaged. Copy it again from its origin."
        )
