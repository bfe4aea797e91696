"""An ONNX graph under construction: nodes, constants, weights, and the axes of what goes in and comes out.

Every method that adds a node returns the name of its output, which other nodes take as an input. A branch of an `If`
node is a graph of its own that sees the names of the graph around it; weights and constants are stored in the
outermost graph, once, however many nodes and branches use them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper

OPSET = 17  # the first with LayerNormalization; runtimes since 2022 support it
IR_VERSION = 8  # the one that came with that opset

Axes = Sequence[int | str]  # the shape of an input or output: a number, or the name of an axis of any length

FLOAT, DOUBLE, INT64, BOOL = TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.INT64, TensorProto.BOOL


class Store:
    """What a graph shares with its branches: weights, constants, and numbers that make the names of nodes unique."""

    def __init__(self) -> None:
        self.tensors: dict[str, Any] = {}
        self.constants: dict[tuple[str, str, bytes], str] = {}
        self.numbers = count()


class Graph:
    """A graph, or a branch of another one, which shares its store."""

    def __init__(self, store: Store | None = None) -> None:
        self.store = store or Store()
        self._nodes: list[Any] = []
        self._inputs: list[Any] = []
        self._outputs: list[Any] = []

    def node(self, operation: str, *inputs: str, attributes: Mapping[str, Any] | None = None) -> str:
        """Adds a node with one output."""
        return self.nodes(operation, *inputs, outputs=1, attributes=attributes)[0]

    def nodes(
        self, operation: str, *inputs: str, outputs: int, attributes: Mapping[str, Any] | None = None
    ) -> list[str]:
        """Adds a node with several outputs."""
        name = f"{operation}_{next(self.store.numbers)}"
        names = [name] if outputs == 1 else [f"{name}.{n}" for n in range(outputs)]
        self._nodes.append(helper.make_node(operation, inputs, names, name=name, **(attributes or {})))
        return names

    def weight(self, name: str, array: np.ndarray[Any, Any]) -> str:
        """Stores an array under a name, once."""
        if name not in self.store.tensors:
            self.store.tensors[name] = numpy_helper.from_array(np.ascontiguousarray(array), name)
        return name

    def constant(self, value: Any, kind: type[Any] = np.int64) -> str:
        """A small array, stored once for all nodes that use the same."""
        array = np.asarray(value, dtype=kind)
        key = (array.dtype.str, str(array.shape), array.tobytes())
        constants = self.store.constants
        if key not in constants:
            constants[key] = self.weight(f"constant_{len(constants)}", array)
        return constants[key]

    def input(self, name: str, kind: int, axes: Axes) -> str:
        """Declares an input."""
        self._inputs.append(helper.make_tensor_value_info(name, kind, list(axes)))
        return name

    def output(self, name: str, value: str, kind: int, axes: Axes) -> None:
        """Declares an output under a name of its own."""
        self._nodes.append(helper.make_node("Identity", [value], [name], name=f"output.{name}"))
        self._outputs.append(helper.make_tensor_value_info(name, kind, list(axes)))

    def either(self, condition: str, yes: Graph, no: Graph, *, outputs: int) -> list[str]:
        """The outputs of one of two branches."""
        attributes = {"then_branch": yes.branch("then"), "else_branch": no.branch("else")}
        return self.nodes("If", condition, outputs=outputs, attributes=attributes)

    def branch(self, name: str) -> Any:
        """The graph as a branch of another, which stores its weights."""
        return helper.make_graph(self._nodes, name, [], self._outputs)

    def model(self, name: str, *, producer: str, version: str, metadata: Mapping[str, str]) -> Any:
        """The whole as a model that can be stored."""
        graph = helper.make_graph(self._nodes, name, self._inputs, self._outputs, list(self.store.tensors.values()))
        made = helper.make_model(
            graph,
            producer_name=producer,
            producer_version=version,
            opset_imports=[helper.make_opsetid("", OPSET)],
            ir_version=IR_VERSION,
        )
        helper.set_model_props(made, dict(metadata))
        return made
