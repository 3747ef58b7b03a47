# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Keeps masks of attention from taking it out of PyTorch's fused kernels.

On a GPU `scaled_dot_product_attention` is a chain of float32 products and a softmax where its mask has a last
stride other than 1, and has fewer kernels to choose from with a mask than without. Libraries make masks while Dynamo
traces that they would leave out in eager mode, where they can look at the elements.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import fx

_ATTENTION = torch.nn.functional.scaled_dot_product_attention
# What gives elements of its first operand as they are, by the names of functions and methods.
_VIEWS = {"broadcast_to", "clone", "contiguous", "expand", "expand_as", "getitem", "repeat", "reshape", "unsqueeze"}
_VIEWS |= {"flatten", "permute", "squeeze", "transpose", "view", "view_as"}
_ANDS = {"and_", "bitwise_and", "logical_and"}
_ORS = {"bitwise_or", "logical_or", "or_"}
_COMPARISONS = {"ge": lambda a, b: a[0] >= b[1], "gt": lambda a, b: a[0] > b[1]}
_COMPARISONS |= {"le": lambda a, b: a[1] <= b[0], "lt": lambda a, b: a[1] < b[0]}
_ANYTHING = -math.inf, math.inf


def keep_attention_fused(graph: fx.GraphModule) -> None:
    """Leave out masks that are true whatever the inputs are, and lay others out as fused kernels read them.

    Args:
        graph: a graph of torch's functions as Dynamo captured it, with fake tensors as `meta["example_value"]`;
            rewritten in place.

    """
    for node in graph.graph.find_nodes(op="call_function", target=_ATTENTION):
        index = 3 if len(node.args) > 3 else None
        mask = node.args[index] if index else node.kwargs.get("attn_mask")
        fake = _fake(mask)
        if fake is None:
            continue
        if fake.dtype == torch.bool and _is_true(mask):
            laid_out = None
        elif fake.is_cuda and _is_spread(fake):
            laid_out = _lay_out(graph.graph, node, mask, fake)
        else:
            continue
        if index:
            node.update_arg(index, laid_out)
        else:
            node.update_kwarg("attn_mask", laid_out)
    graph.recompile()


def _is_spread(fake: torch.Tensor) -> bool:
    """Tell whether neighbouring elements of a row lie apart, or are one."""
    return fake.dim() > 0 and fake.stride(-1) != 1 and fake.size(-1) != 1


def _lay_out(graph: fx.Graph, before: fx.Node, mask: fx.Node, fake: torch.Tensor) -> fx.Node:
    """Return a mask of the same elements whose rows are contiguous; what is the same for a batch is made once."""
    one = tuple(slice(0, 1) if stride == 0 else slice(None) for stride in fake.stride()[:-1])
    with graph.inserting_before(before):
        rows = graph.call_method("__getitem__", (mask, (*one, slice(None))))
        return graph.call_method("expand_as", (graph.call_method("contiguous", (rows,)), mask))


def _is_true(node: Any) -> bool:
    """Tell whether all elements of a tensor of booleans are true, whatever the graph's inputs are."""
    if not isinstance(node, fx.Node):
        return node is True
    if not _is_as_made(node):
        return False
    name = _name(node)
    if name in _VIEWS:
        return _is_true(node.args[0])
    if name in _ANDS:
        return all(map(_is_true, node.args))
    if name in _ORS:
        return any(map(_is_true, node.args))
    if name in _COMPARISONS and len(node.args) == 2:
        return _COMPARISONS[name](*map(_bounds, node.args))
    return name in ("new_ones", "ones", "ones_like") and _fake(node).dtype == torch.bool


def _bounds(node: Any) -> tuple[float, float]:
    """Return numbers between which all elements of a tensor of integers lie."""
    if isinstance(node, int):
        return node, node
    if not isinstance(node, fx.Node) or not _is_as_made(node):
        return _ANYTHING
    name = _name(node)
    if name in _VIEWS:
        return _bounds(node.args[0])
    if name == "add" and len(node.args) == 2 and not node.kwargs:
        (a, b), (c, d) = map(_bounds, node.args)
        return a + c, b + d
    if name == "arange" and len(node.args) in (1, 2) and not {"start", "end", "step", "out"} & node.kwargs.keys():
        start, end = node.args if len(node.args) == 2 else (0, node.args[0])
        if isinstance(start, int):
            return start, end - 1 if isinstance(end, int) else math.inf
    return _ANYTHING


def _is_as_made(node: fx.Node) -> bool:
    """Tell whether nothing writes into a tensor after it was made; Dynamo ran all that does on its fake tensor."""
    fake = _fake(node)
    return fake is not None and not fake.is_inference() and fake._version == 0


def _fake(node: Any) -> torch.Tensor | None:
    value = node.meta.get("example_value") if isinstance(node, fx.Node) else None
    return value if isinstance(value, torch.Tensor) else None


def _name(node: fx.Node) -> str:
    if node.op == "call_method":
        return node.target.strip("_")
    return getattr(node.target, "__name__", "") if node.op == "call_function" else ""
