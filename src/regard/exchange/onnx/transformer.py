"""The Transformer as ONNX graphs: `models/transformer.py` once more, in the same order, from the same weights.

An encoder, and a decoder in three forms, which differ in where its past comes from (`past.py`). Each computes its
positions itself, in the model's own dialect, and starts from a zero vector where the model does, whatever the first
token is. A source is padded on the right; its mask is 1 for tokens and 0 for padding.

Shapes: B sentences, T queries, S keys, D = d_model, H heads, K width of a head.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from regard.exchange.onnx.graph import BOOL, DOUBLE, FLOAT, Graph
from regard.exchange.onnx.past import Past
from regard.exchange.onnx.products import Array, Products
from regard.models.transformer import Embedding, FeedForward, MultiHeadAttention, Residual, Transformer

_FORBIDDEN = float(np.finfo(np.float32).min)  # added to a score: its weight is 0


class Rotations(NamedTuple):
    """Cosines and sines of some positions, [T, K / 2] each."""

    cosines: str
    sines: str


class Sight(NamedTuple):
    """What queries may look at, as a summand of the scores, and the rotations of both sides, if there are any."""

    forbidden: str  # [B or 1, 1, T or 1, S]
    queries: Rotations | None
    keys: Rotations | None


class Builder:
    """Writes parts of one model into a graph. The weights of what attention sees are kept for optional outputs."""

    def __init__(self, model: Transformer, graph: Graph, products: Products) -> None:
        self.model, self.settings, self.graph, self.products = model, model.settings, graph, products
        self.names = {module: name for name, module in model.named_modules()}
        self.seen: dict[str, list[str]] = {"encoder": [], "decoder": [], "cross": []}  # weights, layer by layer

    def on(self, graph: Graph) -> Builder:
        """The same builder, writing into a branch."""
        return Builder(self.model, graph, self.products)

    def positions(self, first: str, after: str) -> str:
        """[T] the positions from `first` to just before `after`."""
        return self.graph.node("Range", first, after, self.graph.constant(1))

    def length(self, x: str, axis: int) -> str:
        """The length of an axis, a scalar."""
        shape = self.graph.node("Shape", x, attributes={"start": axis, "end": axis + 1})
        return self.graph.node("Squeeze", shape)

    def padding(self, mask: str) -> str:
        """[B, S] 1 for tokens and 0 for padding -> [B, 1, 1, S] what is added to scores."""
        wide = self.graph.node("Unsqueeze", mask, self.graph.constant([1, 2]))
        return self._forbidden(self.graph.node("Cast", wide, attributes={"to": BOOL}))

    def future(self, positions: str, total: str) -> str:
        """[T] positions of queries -> [T, S] what is added to scores, so that no position sees a later one."""
        keys = self.positions(self.graph.constant(0), total)
        queries = self.graph.node("Unsqueeze", positions, self.graph.constant([1]))
        return self._forbidden(self.graph.node("LessOrEqual", keys, queries))

    def _forbidden(self, allowed: str) -> str:
        zero, lowest = self.graph.constant(0.0, np.float32), self.graph.constant(_FORBIDDEN, np.float32)
        return self.graph.node("Where", allowed, zero, lowest)

    def rotations(self, positions: str) -> Rotations | None:
        """Rotary positions: the angles of attention's queries or keys."""
        if self.settings.positions != "rotary":
            return None
        exponents = torch.arange(0, self.settings.d_k, 2) / self.settings.d_k
        frequencies = self.graph.constant((self.settings.rotary_base**-exponents).numpy(), np.float32)
        column = self.graph.node("Unsqueeze", positions, self.graph.constant([1]))
        angles = self.graph.node("Mul", self.graph.node("Cast", column, attributes={"to": FLOAT}), frequencies)
        return Rotations(self.graph.node("Cos", angles), self.graph.node("Sin", angles))

    def embedded(self, embedding: Embedding, tokens: str) -> str:
        """Section 3.4: [B, T] -> [B, T, D], multiplied by sqrt(d_model)."""
        rows = self.products.embedding(self.graph, tokens, self.names[embedding], array(embedding.weight))
        return self.graph.node("Mul", rows, self.graph.constant(math.sqrt(self.settings.d_model), np.float32))

    def started(self, x: str, positions: str) -> str:
        """[B, T, D], with a zero vector at position 0 if the model starts from one."""
        if self.settings.start != "zero":
            return x
        column = self.graph.node("Unsqueeze", positions, self.graph.constant([1]))
        later = self.graph.node("Cast", column, attributes={"to": BOOL})  # bool: every position but 0
        return self.graph.node("Where", later, x, self.graph.constant(0.0, np.float32))

    def placed(self, x: str, encodings: nn.Module, positions: str, *, endless: bool) -> str:
        """Section 3.5, or its alternatives: [B, T, D] and positions [T] -> [B, T, D].

        Learned positions have an end: a decoder that is past it stays there (`endless`), and a longer source is an
        error of the program that runs the graph. (The positions are a row of their own here because onnxruntime 1.31
        turns a `Gather` straight after a `Range` into a `Slice` that it then cannot run.)
        """
        if self.settings.positions == "rotary":
            return x
        if self.settings.positions != "learned":
            return self.graph.node("Add", x, self._sinusoids(positions))
        if endless:
            positions = self.graph.node("Min", positions, self.graph.constant(self.settings.learned_positions - 1))
        table = self.graph.weight(f"{self.names[encodings]}.weight", array(encodings.get_parameter("weight")))
        row = self.graph.node("Unsqueeze", positions, self.graph.constant([0]))  # [1, T]
        return self.graph.node("Add", x, self.graph.node("Gather", table, row))

    def _sinusoids(self, positions: str) -> str:
        """[T] -> [T, D]: a cosine is a sine a quarter of a turn ahead. In float64, as in our model."""
        width, interleaved = self.settings.d_model, self.settings.positions == "interleaved"
        pairs, ahead = 10000.0 ** (-np.arange(0, width, 2) / width), [0.0, np.pi / 2]
        frequencies = np.repeat(pairs, 2) if interleaved else np.tile(pairs, 2)
        phases = np.tile(ahead, width // 2) if interleaved else np.repeat(ahead, width // 2)
        column = self.graph.node("Unsqueeze", positions, self.graph.constant([1]))
        numbers = self.graph.node("Cast", column, attributes={"to": DOUBLE})
        angles = self.graph.node("Mul", numbers, self.graph.constant(frequencies, np.float64))
        sines = self.graph.node("Sin", self.graph.node("Add", angles, self.graph.constant(phases, np.float64)))
        return self.graph.node("Cast", sines, attributes={"to": FLOAT})

    def encoder(self, x: str, sight: Sight) -> str:
        """Section 3.1: [B, S, D] -> [B, S, D]."""
        for layer in self.model.encoder.layers:

            def attend(x: str, attention: MultiHeadAttention = layer.self_attention) -> str:
                return self.attended(attention, *self.projected(attention, x, sight), sight, "encoder")

            x = self.residual(layer.self_attention_residual, x, attend)
            x = self.feed_forward(layer, x)
        return self.normalised(self.model.encoder.norm, x)

    def decoder(self, x: str, past: Past, itself: Sight, source: Sight) -> tuple[str, list[str]]:
        """Section 3.1: [B, T, D] -> [B, T, D], and each layer's own keys and values so far."""
        present: list[str] = []
        for number, layer in enumerate(self.model.decoder.layers):

            def attend_to_itself(x: str, attention: Any = layer.self_attention, number: int = number) -> str:
                query, key, value = self.projected(attention, x, itself)
                key, value = past.joined(self.graph, number, key, value)
                present.extend((key, value))
                return self.attended(attention, query, key, value, itself, "decoder")

            def attend_to_source(x: str, attention: Any = layer.source_attention, number: int = number) -> str:
                (query,) = self.by_head(attention, x, [attention.query])
                query = self.rotated(query, source.queries)
                return self.attended(attention, query, *past.source[number], source, "cross")

            x = self.residual(layer.self_attention_residual, x, attend_to_itself)
            x = self.residual(layer.source_attention_residual, x, attend_to_source)
            x = self.feed_forward(layer, x)
        return self.normalised(self.model.decoder.norm, x), present

    def source_keys_and_values(self, states: str, keys: Rotations | None) -> list[tuple[str, str]]:
        """[B, S, D] -> for each layer of the decoder, keys and values of the source, [B, H, S, K]."""
        found = []
        for layer in self.model.decoder.layers:
            attention = layer.source_attention
            key, value = self.by_head(attention, states, [attention.key, attention.value])
            found.append((self.rotated(key, keys), value))
        return found

    def residual(self, residual: Residual, x: str, sublayer: Callable[[str], str]) -> str:
        """Section 3.1: LayerNorm(x + Sublayer(x)), or x + Sublayer(LayerNorm(x))."""
        if residual.pre_norm:
            return self.graph.node("Add", x, sublayer(self.normalised(residual.norm, x)))
        return self.normalised(residual.norm, self.graph.node("Add", x, sublayer(x)))

    def normalised(self, norm: nn.Module, x: str) -> str:
        """[B, T, D] -> [B, T, D]."""
        if not isinstance(norm, nn.LayerNorm):
            return x
        name = self.names[norm]
        weight = self.graph.weight(f"{name}.weight", array(norm.weight))
        bias = self.graph.weight(f"{name}.bias", array(norm.bias))
        attributes = {"axis": -1, "epsilon": norm.eps}
        return self.graph.node("LayerNormalization", x, weight, bias, attributes=attributes)

    def projected(self, attention: MultiHeadAttention, x: str, sight: Sight) -> tuple[str, str, str]:
        """[B, T, D] -> queries, keys and values of the same positions, [B, H, T, K] each, from one product."""
        query, key, value = self.by_head(attention, x, [attention.query, attention.key, attention.value])
        return self.rotated(query, sight.queries), self.rotated(key, sight.keys), value

    def by_head(self, attention: MultiHeadAttention, x: str, linears: Sequence[nn.Linear]) -> list[str]:
        """[B, T, D] -> [B, H, T, K] for each linear map; they are stored and computed as one."""
        parts = [self.names[linear].rpartition(".")[2] for linear in linears]
        name = f"{self.names[attention]}.{'_'.join(parts)}"
        weight = np.concatenate([array(linear.weight) for linear in linears])
        bias = None if linears[0].bias is None else np.concatenate([array(linear.bias) for linear in linears])
        product = self.products.linear(self.graph, x, name, weight, bias)
        if len(linears) > 1:
            widths = self.graph.constant([linear.out_features for linear in linears])
            split = self.graph.nodes("Split", product, widths, outputs=len(linears), attributes={"axis": -1})
        else:
            split = [product]
        shape = self.graph.constant([0, 0, attention.heads, -1])
        heads = [self.graph.node("Reshape", one, shape) for one in split]
        return [self.graph.node("Transpose", one, attributes={"perm": [0, 2, 1, 3]}) for one in heads]

    def rotated(self, x: str, rotations: Rotations | None) -> str:
        """[B, H, T, K] -> the same, each pair of numbers turned by its position's angle."""
        if rotations is None:
            return x
        half = self.settings.d_k // 2
        one, other = self.graph.nodes("Split", x, self.graph.constant([half, half]), outputs=2, attributes={"axis": -1})
        first = self.graph.node("Sub", self._times(one, rotations.cosines), self._times(other, rotations.sines))
        second = self.graph.node("Add", self._times(one, rotations.sines), self._times(other, rotations.cosines))
        return self.graph.node("Concat", first, second, attributes={"axis": -1})

    def _times(self, one: str, other: str) -> str:
        return self.graph.node("Mul", one, other)

    def attended(self, attention: MultiHeadAttention, query: str, key: str, value: str, sight: Sight, kind: str) -> str:
        """Sections 3.2.1 and 3.2.2: softmax(QK^T / sqrt(d_k))V for all heads, joined by W^O."""
        scale = self.graph.constant(1 / math.sqrt(self.settings.d_k), np.float32)
        turned = self.graph.node("Transpose", key, attributes={"perm": [0, 1, 3, 2]})
        scores = self.graph.node("Mul", self.graph.node("MatMul", query, turned), scale)
        weights = self.graph.node("Softmax", self.graph.node("Add", scores, sight.forbidden), attributes={"axis": -1})
        self.seen[kind].append(weights)
        heads = self.graph.node("MatMul", weights, value)
        joined = self.graph.node("Transpose", heads, attributes={"perm": [0, 2, 1, 3]})
        flat = self.graph.node("Reshape", joined, self.graph.constant([0, 0, -1]))
        return self.linear(attention.output, flat)

    def feed_forward(self, layer: Any, x: str) -> str:
        """Section 3.3, with its residual connection."""
        network: FeedForward = layer.feed_forward

        def sublayer(x: str) -> str:
            return self.linear(network.outer, self.activated(self.linear(network.inner, x)))

        return self.residual(layer.feed_forward_residual, x, sublayer)

    def activated(self, x: str) -> str:
        """ReLU, or GELU by the error function, or swish."""
        if self.settings.activation == "relu":
            return self.graph.node("Relu", x)
        if self.settings.activation == "swish":
            return self.graph.node("Mul", x, self.graph.node("Sigmoid", x))
        shrunk = self.graph.node("Div", x, self.graph.constant(math.sqrt(2), np.float32))
        gate = self.graph.node("Add", self.graph.node("Erf", shrunk), self.graph.constant(1.0, np.float32))
        return self.graph.node("Mul", self.graph.node("Mul", x, gate), self.graph.constant(0.5, np.float32))

    def linear(self, linear: nn.Linear, x: str) -> str:
        """[B, T, I] -> [B, T, O]."""
        bias = None if linear.bias is None else array(linear.bias)
        return self.products.linear(self.graph, x, self.names[linear], array(linear.weight), bias)

    def logits(self, x: str) -> str:
        """Section 3.4: [B, T, D] -> [B, T, V]."""
        embedding, bias = self.model.output_embedding, self.model.output_bias
        own = None if bias is None else array(bias)
        return self.products.logits(self.graph, x, self.names[embedding], array(embedding.weight), own)


def array(tensor: Tensor) -> Array:
    """A weight in float32."""
    return tensor.detach().to(device="cpu", dtype=torch.float32).numpy()
