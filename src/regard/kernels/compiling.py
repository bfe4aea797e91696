"""Our operations in PyTorch's compiler: it calls them as they are, and leaves some sums to them.

What leaves a residual connection enters the next sub-layer and goes past it, so its gradient is a sum of two. The
kernel that needs it, `regard::residual_norm_backward`, adds them itself: no sum is written, and read again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch._inductor.custom_graph_pass import CustomGraphPass, get_hash_for_files
from torch._inductor.lowering import lowerings, make_fallback, tag_to_layout_constraint
from torch._library.utils import get_layout_constraint_tag
from torch.fx import Graph, Node


def introduce(operations: Sequence[str]) -> None:
    """The compiler calls `torch.ops.regard` of these names as they are.

    It would learn that by itself where it meets one. But PyTorch 2.11 then describes for its log all that led there,
    and the description doubles with each layer.
    """
    for name in operations:
        known = getattr(torch.ops.regard, name).default
        if known not in lowerings:
            constraint = tag_to_layout_constraint(get_layout_constraint_tag(known))
            make_fallback(known, constraint)  # type: ignore[no-untyped-call]


class SumsInKernels(CustomGraphPass):
    """Takes apart the sum of two gradients where it is made for our kernel alone."""

    def __call__(self, graph: Graph) -> None:
        """Changes the graph; one without our operation stays as it is."""
        for node in graph.find_nodes(op="call_function", target=torch.ops.regard.residual_norm_backward.default):
            total, more, *others = node.args
            if more is None and isinstance(total, Node) and _is_sum_for(node, total):
                node.args = (*total.args, *others)
                graph.erase_node(total)

    def uuid(self) -> Any:
        """Compiled code in a cache is of use as long as this file is the same."""
        return get_hash_for_files((__file__,))


def _is_sum_for(node: Node, total: Node) -> bool:
    """Whether this is a plain sum of two tensors of one shape, used by this node alone."""
    if total.target is not torch.ops.aten.add.Tensor or total.kwargs or list(total.users) != [node]:
        return False
    return all(isinstance(part, Node) and _shape_of(part) == _shape_of(total) for part in total.args)


def _shape_of(node: Node) -> tuple[torch.Size, torch.dtype]:
    return node.meta["val"].shape, node.meta["val"].dtype
