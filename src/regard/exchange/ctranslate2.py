"""A Transformer as a CTranslate2 model: the same function, for an engine that is fast on processors.

CTranslate2 builds Transformers from a specification: a tree of layers whose leaves are weights. Two things are written
that it would otherwise choose itself: the positional encodings, row by row, and what the decoder starts from. Heads
that are wider or narrower than d_model / heads are written with zeros where its heads would not fit.

A sentence is a list of tokens, one string for each id. `</s>` is added to a source by CTranslate2 itself.

Shapes: D = d_model, H heads, K = d_k, W the width that a head has there.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor, nn

from regard.errors import ModelFolderError, SettingsError
from regard.exchange import Exporter
from regard.exchange.ctranslate2_runtime import library, positions_of, tokens
from regard.exchange.parity import MOST_TOKENS, Peer, Said
from regard.modelfolder import ModelFolder, Readable
from regard.models.transformer import MultiHeadAttention, Residual, Transformer
from regard.tokens import Tokenisers
from regard.tokens.tokeniser import SPECIAL
from regard.version import __version__

QUANTIZATIONS = ("float32", "int8", "int16", "float16")
USAGE = "usage.json"

_EPSILON = 1e-5  # that of torch.nn.LayerNorm


def write(loaded: ModelFolder, out: Path, quantization: str) -> None:
    """Into an empty folder: the model, the tokeniser's files, and how to use them with CTranslate2 alone."""
    if not loaded.tokeniser:
        raise ModelFolderError("This model has no tokeniser, but CTranslate2 needs the names of its tokens.")
    tokenisers = Tokenisers.from_files(loaded.tokeniser)
    if tokenisers.reversed:
        raise ModelFolderError(
            "This model reads and generates text from its end, which CTranslate2 does not support.\n"
            "  Use it with Regard itself."
        )
    convert(loaded, tokenisers, out, quantization=quantization)
    for name, content in loaded.tokeniser.items():
        (out / name).write_bytes(content)
    usage = _usage(loaded, tokenisers, quantization)
    (out / USAGE).write_text(json.dumps(usage, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    (out / "README.md").write_text(_readme(usage), encoding="utf-8")


def convert(loaded: Readable, tokenisers: Tokenisers, folder: Path, *, quantization: str) -> None:
    """Writes what CTranslate2 reads, and nothing else, into a folder that is there."""
    if loaded.description.architecture != "transformer":
        raise ModelFolderError(
            f"CTranslate2 runs only Transformers, but this model is a {loaded.description.architecture!r}."
            "\n  Use it with Regard's own engine, torch."
        )
    if cast("Transformer", loaded.model).settings.positions == "rotary":
        raise ModelFolderError(
            "CTranslate2 does not support rotary positions in attention over the source, which this model uses.\n"
            "  Use it with Regard's own engine, torch."
        )
    specification = _specification(cast("Transformer", loaded.model))
    specification.register_source_vocabulary(tokens(tokenisers.source))
    specification.register_target_vocabulary(tokens(tokenisers.target))
    begin, end, unknown = SPECIAL
    specification.config.bos_token = specification.config.decoder_start_token = begin
    specification.config.eos_token, specification.config.unk_token = end, unknown
    specification.config.add_source_eos = True
    specification.config.layer_norm_epsilon = _EPSILON
    specification.validate()
    specification.optimize(quantization=quantization)
    specification.save(str(folder))


def _encodings(positions: nn.Module, rows: int, like: Tensor) -> Tensor:
    """[rows, D] what is added to embeddings at the first positions."""
    nothing = like.new_zeros(1, rows, like.size(1))
    found: Tensor = positions(nothing, torch.arange(rows, device=like.device)[None])
    return found[0]


def _specification(model: Transformer) -> Any:
    """CTranslate2's tree of layers with the weights of `model` in it."""
    specs = library().specs
    settings = model.settings
    activation = {
        "relu": specs.Activation.RELU,
        "gelu": specs.Activation.GELU,
        "gelu-tanh": specs.Activation.GELUTanh,
        "swish": specs.Activation.SWISH,
    }[settings.activation]
    specification = specs.TransformerSpec.from_config(
        (settings.encoder_layers, settings.decoder_layers),
        settings.heads,
        pre_norm=settings.norm == "pre",
        activation=activation,
    )
    encoder, decoder = specification.encoder, specification.decoder
    like = model.source_embedding.weight
    rows = positions_of(settings)
    encoder.embeddings[0].weight = _array(model.source_embedding.weight)
    encoder.position_encodings.encodings = _array(_encodings(model.source_positions, rows, like))
    decoder.embeddings.weight = _array(model.target_embedding.weight)
    decoder.position_encodings.encodings = _array(_encodings(model.target_positions, rows, like))
    decoder.start_from_zero_embedding = settings.start == "zero"
    decoder.projection.weight = _array(model.output_embedding.weight)
    if model.output_bias is not None:
        decoder.projection.bias = _array(model.output_bias)
    if settings.norm == "pre":
        _norm(model.encoder.norm, encoder.layer_norm)
        _norm(model.decoder.norm, decoder.layer_norm)
    for ours, theirs in zip(model.encoder.layers, encoder.layer, strict=True):
        _attention(ours.self_attention, ours.self_attention_residual, theirs.self_attention, fused=(3, 1))
        _feed_forward(ours, theirs.ffn)
    for our_layer, theirs in zip(model.decoder.layers, decoder.layer, strict=True):
        _attention(our_layer.self_attention, our_layer.self_attention_residual, theirs.self_attention, fused=(3, 1))
        _attention(our_layer.source_attention, our_layer.source_attention_residual, theirs.attention, fused=(1, 2, 1))
        _feed_forward(our_layer, theirs.ffn)
    return specification


def _attention(ours: MultiHeadAttention, residual: Residual, theirs: Any, *, fused: Sequence[int]) -> None:
    """The four projections, those of the keys and values in one matrix with the queries', or without."""
    d_k, d_v = (linear.weight.size(0) // ours.heads for linear in (ours.key, ours.value))
    width = max(d_k, d_v)
    projections = [_wider_heads(linear, ours.heads, width) for linear in (ours.query, ours.key, ours.value)]
    projections.append((_wider_heads_in(ours.output, ours.heads, width), ours.output.bias))
    first = 0
    for count, linear in zip(fused, theirs.linear, strict=True):
        weights, biases = zip(*projections[first : first + count], strict=True)
        linear.weight = _array(torch.cat(weights))
        if ours.output.bias is not None:
            linear.bias = _array(torch.cat(biases))
        first += count
    theirs.queries_scale = 1 / math.sqrt(d_k)
    _norm(residual.norm, theirs.layer_norm)


def _wider_heads(linear: nn.Linear, heads: int, width: int) -> tuple[Tensor, Tensor | None]:
    """[H * K, D] -> [H * W, D]: each head's outputs, then zeros, which add nothing to any product."""

    def wider(rows: Tensor) -> Tensor:
        by_head = rows.view(heads, -1, *rows.shape[1:])
        missing = by_head.new_zeros(heads, width - by_head.size(1), *rows.shape[1:])
        return torch.cat([by_head, missing], 1).flatten(0, 1)

    return wider(linear.weight), None if linear.bias is None else wider(linear.bias)


def _wider_heads_in(linear: nn.Linear, heads: int, width: int) -> Tensor:
    """[D, H * K] -> [D, H * W]: the same for what a layer reads."""
    by_head = linear.weight.view(linear.weight.size(0), heads, -1)
    missing = by_head.new_zeros(by_head.size(0), heads, width - by_head.size(2))
    return torch.cat([by_head, missing], 2).flatten(1)


def _feed_forward(ours: Any, theirs: Any) -> None:
    for linear, spec in ((ours.feed_forward.inner, theirs.linear_0), (ours.feed_forward.outer, theirs.linear_1)):
        spec.weight, spec.bias = _array(linear.weight), _array(linear.bias)
    _norm(ours.feed_forward_residual.norm, theirs.layer_norm)


def _norm(ours: nn.Module, theirs: Any) -> None:
    norm = cast("nn.LayerNorm", ours)
    theirs.gamma, theirs.beta = _array(norm.weight), _array(norm.bias)


def _array(tensor: Tensor) -> Any:
    """A weight as CTranslate2 takes it: a float32 array, and a copy, since quantising changes it in place."""
    return tensor.detach().to(device="cpu", dtype=torch.float32, copy=True).contiguous().numpy()


def _usage(loaded: ModelFolder, tokenisers: Tokenisers, quantization: str) -> dict[str, Any]:
    """What a program needs to know to use the folder."""
    begin, end, unknown = SPECIAL
    return {
        "made_by": f"Regard {__version__}",
        "format": "CTranslate2",
        "quantization": quantization,
        "languages": loaded.description.languages,
        "tokenisers": {
            "kind": {"source": tokenisers.source.kind, "target": tokenisers.target.kind},
            "files": sorted(loaded.tokeniser),
            "joint": tokenisers.joint,
        },
        "special_tokens": {"start": begin, "end": end, "unknown": unknown},
        "end_is_added_to_the_source": True,
        "longest_sentence": positions_of(cast("Transformer", loaded.model).settings),
    }


_PYTHON = """\
```python
import ctranslate2, sentencepiece

source = sentencepiece.SentencePieceProcessor("{source}")
target = sentencepiece.SentencePieceProcessor("{target}")
translator = ctranslate2.Translator(".", device="cpu")
found = translator.translate_batch([source.encode("A sentence.", out_type=str)], beam_size=4)
print(target.decode(found[0].hypotheses[0]))
```
"""


def _readme(usage: dict[str, Any]) -> str:
    """The same for people."""
    languages = " to ".join(usage["languages"].get(side, "?") for side in ("source", "target"))
    joint, kinds = usage["tokenisers"]["joint"], usage["tokenisers"]["kind"]
    names = ("tokeniser.spm",) * 2 if joint else ("source.spm", "target.spm")
    if set(kinds.values()) == {"subwords"}:
        how = _PYTHON.format(source=names[0], target=names[1])
    else:
        how = f"Its tokenisers are {kinds['source']} and {kinds['target']} of Regard; see their files.\n"
    return (
        f"# A CTranslate2 model{', ' + languages if usage['languages'] else ''}\n\n"
        f"Written by {usage['made_by']}; weights in {usage['quantization']}. To use it, you need only "
        f"`pip install ctranslate2 sentencepiece`.\n\n{how}\n"
        "CTranslate2 adds `</s>` to every source. Normalise text to Unicode NFC with single spaces first. "
        f"A sentence may have at most {usage['longest_sentence']} tokens. {USAGE} has these details for programs.\n"
    )


def _version() -> str | None:
    try:
        return str(library().__version__)
    except SettingsError:
        return None


def said(folder: Path, loaded: ModelFolder, texts: Sequence[str]) -> list[Said]:
    """What CTranslate2 says with a written folder; it has tokens and no text."""
    tokenisers = Tokenisers.from_files(loaded.tokeniser)
    names, numbers = tokens(tokenisers.source), {name: n for n, name in enumerate(tokens(tokenisers.target))}
    translator = library().Translator(str(folder), device="cpu", intra_threads=1)
    sources = [[names[token] for token in tokenisers.source.encode(text)] for text in texts]
    found = translator.translate_batch(sources, beam_size=1, max_decoding_length=MOST_TOKENS)
    return [Said([numbers[token] for token in one.hypotheses[0]]) for one in found]


EXPORT = Exporter(write, QUANTIZATIONS, Peer("CTranslate2", _version, "fast", said))
