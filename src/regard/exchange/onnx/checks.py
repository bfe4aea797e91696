"""What is checked of a graph before it is stored: its opset, its names and axes, its shapes, its size.

The names and axes are written down here a second time, apart from the code that makes them, because other programs
rely on them.
"""

from __future__ import annotations

from typing import Any

import onnx

from regard.errors import ModelFolderError
from regard.exchange.onnx.graph import IR_VERSION, OPSET
from regard.models.parts.transformer_settings import TransformerSettings

Declared = dict[str, tuple[int | str, ...]]  # a name, and its axes: numbers, or names of axes of any length

_LARGEST = 2**31 - 1  # bytes of a file: the limit of Protocol Buffers
_B, _S, _T = "batch_size", "encoder_sequence_length", "decoder_sequence_length"
_P, _ALL = "past_decoder_sequence_length", "total_decoder_sequence_length"


def refuse_if_too_large(model: Any, name: str) -> None:
    """Protocol Buffers, the format of ONNX files, end at 2 GiB."""
    if sum(len(one.raw_data) for one in model.graph.initializer) > _LARGEST - 2**20:
        raise ModelFolderError(
            f"{name}.onnx would be larger than 2 GiB, which the format does not allow.\n"
            "  Use --quantization int8, or another format."
        )


def check(model: Any, name: str, settings: TransformerSettings, *, attentions: bool) -> None:
    """A failure here is a mistake of ours."""
    kind = name.removesuffix("_quantized")
    inputs, outputs = expected(kind, settings, attentions=attentions)
    assert (declared(model.graph.input), declared(model.graph.output)) == (inputs, outputs), name
    assert [(one.domain, one.version) for one in model.opset_import] == [("", OPSET)]
    assert model.ir_version == IR_VERSION
    onnx.checker.check_model(model, full_check=True)  # shapes included


def declared(values: Any) -> Declared:
    """The names of inputs or outputs, with their axes."""
    axes = ((one.name, one.type.tensor_type.shape.dim) for one in values)
    return {name: tuple(axis.dim_param or axis.dim_value for axis in shape) for name, shape in axes}


def expected(kind: str, settings: TransformerSettings, *, attentions: bool) -> tuple[Declared, Declared]:
    """Inputs and outputs of a file, by optimum's conventions."""
    if kind == "encoder_model":
        return _encoder(settings, attentions=attentions)
    given, merged = kind == "decoder_with_past_model", kind == "decoder_model_merged"
    inputs: Declared = {"encoder_attention_mask": (_B, _S), "input_ids": (_B, _T)}
    outputs: Declared = {"logits": (_B, _T, settings.target_vocabulary)}
    total = _ALL if given or merged else _T
    if not given:
        inputs["encoder_hidden_states"] = (_B, _S, settings.d_model)
    for layer in range(settings.decoder_layers):
        if given or merged:
            inputs |= _cache(f"past_key_values.{layer}.decoder", settings, _P)
            inputs |= _cache(f"past_key_values.{layer}.encoder", settings, _S)
        outputs |= _cache(f"present.{layer}.decoder", settings, total)
        if not given:
            outputs |= _cache(f"present.{layer}.encoder", settings, _S)
    if merged:
        inputs["use_cache_branch"] = (1,)
    if attentions:
        outputs |= _weights("decoder_attentions", settings, settings.decoder_layers, (_T, total))
        outputs |= _weights("cross_attentions", settings, settings.decoder_layers, (_T, _S))
    return inputs, outputs


def _encoder(settings: TransformerSettings, *, attentions: bool) -> tuple[Declared, Declared]:
    outputs: Declared = {"last_hidden_state": (_B, _S, settings.d_model)}
    if attentions:
        outputs |= _weights("encoder_attentions", settings, settings.encoder_layers, (_S, _S))
    return {"input_ids": (_B, _S), "attention_mask": (_B, _S)}, outputs


def _cache(name: str, settings: TransformerSettings, length: str) -> Declared:
    return {
        f"{name}.key": (_B, settings.heads, length, settings.d_k),
        f"{name}.value": (_B, settings.heads, length, settings.d_v),
    }


def _weights(name: str, settings: TransformerSettings, layers: int, axes: tuple[str, str]) -> Declared:
    return {f"{name}.{layer}": (_B, settings.heads, *axes) for layer in range(layers)}
