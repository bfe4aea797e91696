"""The files of an export: one encoder, and one decoder in three forms, with the names that other programs expect.

The names of inputs and outputs are those of Hugging Face's optimum, which transformers.js reads, too.

    encoder_model               a source -> its states
    decoder_model               states and the target so far -> logits, and the keys and values of all layers
    decoder_with_past_model     these keys and values and the newest tokens -> the same, longer
    decoder_model_merged        both, as `use_cache_branch` says

Shapes: B sentences, T target positions of this call, P those before, S source positions, H heads, K width of a head.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

import numpy as np

from regard.exchange.onnx.graph import BOOL, FLOAT, INT64, Axes, Graph
from regard.exchange.onnx.past import KeysAndValues, Past, in_pairs
from regard.exchange.onnx.products import Products
from regard.exchange.onnx.transformer import Builder, Sight
from regard.models.transformer import Transformer
from regard.version import __version__

BATCH, SOURCE, TARGET = "batch_size", "encoder_sequence_length", "decoder_sequence_length"
BEFORE, TOTAL = "past_decoder_sequence_length", "total_decoder_sequence_length"

Form = Literal["plain", "with past", "merged"]
DECODERS: dict[str, Form] = {
    "decoder_model": "plain",
    "decoder_with_past_model": "with past",
    "decoder_model_merged": "merged",
}


def encoder(model: Transformer, products: Products, *, attentions: bool) -> Any:
    """The encoder's model."""
    graph = Graph()
    build = Builder(model, graph, products)
    tokens = graph.input("input_ids", INT64, (BATCH, SOURCE))
    mask = graph.input("attention_mask", INT64, (BATCH, SOURCE))
    positions = build.positions(graph.constant(0), build.length(tokens, 1))
    x = build.embedded(model.source_embedding, tokens)
    x = build.placed(x, model.source_positions, positions, endless=False)
    rotations = build.rotations(positions)
    states = build.encoder(x, Sight(build.padding(mask), rotations, rotations))
    graph.output("last_hidden_state", states, FLOAT, (BATCH, SOURCE, model.settings.d_model))
    if attentions:
        _attentions(graph, build, {"encoder_attentions": ("encoder", (SOURCE, SOURCE))})
    return _finished(graph, "encoder", products)


def decoder(model: Transformer, products: Products, form: Form, *, attentions: bool) -> Any:
    """The decoder's model in one of its forms."""
    graph = Graph()
    build = Builder(model, graph, products)
    mask = graph.input("encoder_attention_mask", INT64, (BATCH, SOURCE))
    tokens = graph.input("input_ids", INT64, (BATCH, TARGET))
    past = {"plain": _no_past, "with past": _given_past, "merged": _either_past}[form](build, tokens, mask)
    total = graph.node("Add", past.length, build.length(tokens, 1))
    positions = build.positions(past.length, total)
    x = build.started(build.embedded(model.target_embedding, tokens), positions)
    x = build.placed(x, model.target_positions, positions, endless=True)
    rotations = build.rotations(positions)
    itself = Sight(build.future(positions, total), rotations, rotations)
    source = Sight(build.padding(mask), rotations, None)  # the keys of the source were rotated before
    states, own = build.decoder(x, past, itself, source)
    graph.output("logits", build.logits(states), FLOAT, (BATCH, TARGET, model.settings.target_vocabulary))
    whole = TARGET if form == "plain" else TOTAL
    _present(build, in_pairs(own), None if form == "with past" else past.source, whole)
    if attentions:
        kinds = {"decoder_attentions": ("decoder", (TARGET, whole)), "cross_attentions": ("cross", (TARGET, SOURCE))}
        _attentions(graph, build, kinds)
    return _finished(graph, "decoder", products)


def _no_past(build: Builder, tokens: str, mask: str) -> Past:  # noqa: ARG001  the merged form needs the tokens
    return Past(build.graph.constant(0), None, _source(build, _states(build), mask))


def _given_past(build: Builder, tokens: str, mask: str) -> Past:  # noqa: ARG001
    own, source = _declared_past(build)
    return Past(build.length(own[0][0], 2), own, source)


def _either_past(build: Builder, tokens: str, mask: str) -> Past:
    """The past that is given, or none and the source's keys and values from the encoder's states."""
    states = _states(build)
    own, source = _declared_past(build)
    choice = build.graph.input("use_cache_branch", BOOL, (1,))
    given, made = Graph(build.graph.store), Graph(build.graph.store)
    fresh = build.on(made)
    _branch(build, given, "given", own, source)
    _branch(build, made, "made", _nothing(fresh, tokens), _source(fresh, states, mask))
    count = 2 * len(own)
    chosen = build.graph.either(choice, given, made, outputs=2 * count)
    own, source = in_pairs(chosen[:count]), in_pairs(chosen[count:])
    return Past(build.length(own[0][0], 2), own, source)


def _states(build: Builder) -> str:
    return build.graph.input("encoder_hidden_states", FLOAT, (BATCH, SOURCE, build.settings.d_model))


def _source(build: Builder, states: str, mask: str) -> KeysAndValues:
    positions = build.positions(build.graph.constant(0), build.length(mask, 1))
    return build.source_keys_and_values(states, build.rotations(positions))


def _nothing(build: Builder, tokens: str) -> KeysAndValues:
    """[B, H, 0, K]: keys and values of no positions."""
    settings, graph = build.settings, build.graph
    sentences = graph.node("Shape", tokens, attributes={"start": 0, "end": 1})

    def empty(width: int) -> str:
        rest = graph.constant([settings.heads, 0, width])
        shape = graph.node("Concat", sentences, rest, attributes={"axis": 0})
        return graph.node("Expand", graph.constant(0.0, np.float32), shape)

    return [(empty(settings.d_k), empty(settings.d_v))] * settings.decoder_layers


def _branch(build: Builder, branch: Graph, name: str, own: KeysAndValues, source: KeysAndValues) -> None:
    """Ends a branch with the keys and values of all layers: the decoder's own, then the source's."""
    for kind, pairs, length in (("own", own, BEFORE), ("source", source, SOURCE)):
        for layer, (key, value) in enumerate(pairs):
            for part, one in (("key", key), ("value", value)):
                branch.output(f"{name}.{layer}.{kind}.{part}", one, FLOAT, _cache_axes(build, part, length))


def _declared_past(build: Builder) -> tuple[KeysAndValues, KeysAndValues]:
    """Inputs for the decoder's own keys and values, and for those of the source."""
    own: list[str] = []
    source: list[str] = []
    for layer in range(build.settings.decoder_layers):
        for side, length, found in (("decoder", BEFORE, own), ("encoder", SOURCE, source)):
            found += [
                build.graph.input(f"past_key_values.{layer}.{side}.{part}", FLOAT, _cache_axes(build, part, length))
                for part in ("key", "value")
            ]
    return in_pairs(own), in_pairs(source)


def _present(build: Builder, own: KeysAndValues, source: KeysAndValues | None, total: str) -> None:
    """Outputs that are the next call's past; the source's are left out where they would be what was given."""
    for layer, pair in enumerate(own):
        sides = [("decoder", pair, total)] + ([] if source is None else [("encoder", source[layer], SOURCE)])
        for side, both, length in sides:
            for part, one in zip(("key", "value"), both, strict=True):
                name = f"present.{layer}.{side}.{part}"
                build.graph.output(name, one, FLOAT, _cache_axes(build, part, length))


def _cache_axes(build: Builder, part: str, length: str) -> Axes:
    settings = build.settings
    return (BATCH, settings.heads, length, settings.d_k if part == "key" else settings.d_v)


def _attentions(graph: Graph, build: Builder, kinds: Mapping[str, tuple[str, tuple[str, str]]]) -> None:
    """Optional outputs: the weights of each layer's attention."""
    for name, (kind, axes) in kinds.items():
        for layer, weights in enumerate(build.seen[kind]):
            graph.output(f"{name}.{layer}", weights, FLOAT, (BATCH, build.settings.heads, *axes))


def all_files(model: Transformer, products: Products, *, attentions: bool) -> Iterator[tuple[str, Any]]:
    """The name of each file, without its ending, and its model; one at a time, since each holds many weights."""
    yield f"encoder_model{products.suffix}", encoder(model, products, attentions=attentions)
    for name, form in DECODERS.items():
        yield f"{name}{products.suffix}", decoder(model, products, form, attentions=attentions)


def _finished(graph: Graph, name: str, products: Products) -> Any:
    metadata = {"quantization": products.name}
    return graph.model(name, producer="regard", version=__version__, metadata=metadata)
