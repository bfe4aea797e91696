"""How a graph stores its weights and multiplies by them: in float32, or in int8 with dynamic quantisation.

In int8, each column of a matrix has a scale of its own. The other factor is rounded while the graph runs, with one
scale for all of it (`DynamicQuantizeLinear`), and the product is exact in 32-bit integers.

Shapes: B sentences, T positions, I inputs, O outputs, V vocabulary, D = d_model.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from regard.exchange.onnx.graph import FLOAT, Graph

Array = np.ndarray[Any, Any]

_LARGEST = 127
_ZERO = 128  # weights are stored unsigned around this: no processor adds up such products with saturation


class Products(Protocol):
    """One way to store and use weights."""

    name: str
    suffix: str  # what is added to the names of the files

    def linear(self, graph: Graph, x: str, name: str, weight: Array, bias: Array | None) -> str:
        """[B, T, I] times the transposed weight [O, I], plus the bias [O] -> [B, T, O]."""

    def embedding(self, graph: Graph, tokens: str, name: str, weight: Array) -> str:
        """[B, T] ids -> [B, T, D], rows of weight [V, D]."""

    def logits(self, graph: Graph, x: str, name: str, weight: Array, bias: Array | None) -> str:
        """[B, T, D] -> [B, T, V], with a weight that `embedding` may share under the same name."""


class Float32:
    """Weights as they are."""

    name, suffix = "float32", ""

    def linear(self, graph: Graph, x: str, name: str, weight: Array, bias: Array | None) -> str:
        """One product; the matrix is stored transposed."""
        product = graph.node("MatMul", x, graph.weight(f"{name}.weight", weight.T))
        return product if bias is None else graph.node("Add", product, graph.weight(f"{name}.bias", bias))

    def embedding(self, graph: Graph, tokens: str, name: str, weight: Array) -> str:
        """Rows of the matrix."""
        return graph.node("Gather", graph.weight(f"{name}.weight", weight), tokens)

    def logits(self, graph: Graph, x: str, name: str, weight: Array, bias: Array | None) -> str:
        """`Gemm` reads the matrix of the embedding as it is, so a tied matrix is stored once."""
        flat = graph.node("Reshape", x, graph.constant([-1, weight.shape[1]]))
        inputs = [flat, graph.weight(f"{name}.weight", weight)]
        if bias is not None:
            inputs.append(graph.weight(f"{name}.output_bias", bias))
        product = graph.node("Gemm", *inputs, attributes={"transB": 1})
        lengths = graph.node("Shape", x, attributes={"start": 0, "end": 2})
        shape = graph.node("Concat", lengths, graph.constant([weight.shape[0]]), attributes={"axis": 0})
        return graph.node("Reshape", product, shape)


class Int8:
    """Matrices of 8-bit integers with a scale for each column; biases and normalisations stay float32."""

    name, suffix = "int8", "_quantized"

    def linear(self, graph: Graph, x: str, name: str, weight: Array, bias: Array | None) -> str:
        """A product of integers, scaled back."""
        integers, scales = self._stored(graph, name, weight)
        rounded, scale, zero = graph.nodes("DynamicQuantizeLinear", x, outputs=3)
        product = graph.node("MatMulInteger", rounded, integers, zero, graph.constant(_ZERO, np.uint8))
        both = graph.node("Mul", scale, scales)
        found = graph.node("Mul", graph.node("Cast", product, attributes={"to": FLOAT}), both)
        return found if bias is None else graph.node("Add", found, graph.weight(f"{name}.bias", bias))

    def embedding(self, graph: Graph, tokens: str, name: str, weight: Array) -> str:
        """Columns of the matrix as `logits` needs it, [D, B, T], turned to [B, T, D]."""
        integers, scales = self._stored(graph, name, weight)
        columns = graph.node("Gather", integers, tokens, attributes={"axis": 1})
        rows = graph.node("Transpose", columns, attributes={"perm": [1, 2, 0]})
        numbers = graph.node("Cast", rows, attributes={"to": FLOAT})
        centred = graph.node("Sub", numbers, graph.constant(_ZERO, np.float32))
        scale = graph.node("Unsqueeze", graph.node("Gather", scales, tokens), graph.constant([-1]))
        return graph.node("Mul", centred, scale)

    def logits(self, graph: Graph, x: str, name: str, weight: Array, bias: Array | None) -> str:
        """The same as any product."""
        found = self.linear(graph, x, name, weight, None)
        return found if bias is None else graph.node("Add", found, graph.weight(f"{name}.output_bias", bias))

    def _stored(self, graph: Graph, name: str, weight: Array) -> tuple[str, str]:
        """[O, I] -> the names of integers [I, O] and of scales [O]."""
        largest = np.abs(weight).max(axis=1)
        scales = np.where(largest > 0, largest / _LARGEST, 1.0).astype(np.float32)
        integers = (np.rint(weight / scales[:, None]) + _ZERO).astype(np.uint8)
        return graph.weight(f"{name}.integers", integers.T), graph.weight(f"{name}.scales", scales)
