"""What a decoder's graph knows of the steps before: keys and values of its own, and those of the source.

A graph without a past computes the source's keys and values from the encoder's states. A graph with a past is given
both. The merged graph is both at once: one `If` node chooses between them, so that the layers after it, and their
weights, are stored once.

Shapes: B sentences, H heads, P positions so far, S source positions, K width of a key or value.
"""

from __future__ import annotations

from typing import NamedTuple

from regard.exchange.onnx.graph import Graph

KeysAndValues = list[tuple[str, str]]  # for each layer


class Past(NamedTuple):
    """What came before the tokens that a graph is given."""

    length: str  # P, a scalar
    own: KeysAndValues | None  # [B, H, P, K] each; None: nothing came before
    source: KeysAndValues  # [B, H, S, K] each

    def joined(self, graph: Graph, layer: int, key: str, value: str) -> tuple[str, str]:
        """[B, H, T, K] the newest keys and values of a layer -> [B, H, P + T, K]."""
        if self.own is None:
            return key, value
        before = self.own[layer]
        pairs = zip(before, (key, value), strict=True)
        keys, values = (graph.node("Concat", old, new, attributes={"axis": 2}) for old, new in pairs)
        return keys, values


def in_pairs(names: list[str]) -> KeysAndValues:
    """Keys and values one after the other, as pairs."""
    return list(zip(names[::2], names[1::2], strict=True))
