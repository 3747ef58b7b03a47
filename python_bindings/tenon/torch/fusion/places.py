# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where the largest and smallest elements of rows are.

PyTorch gives columns as integers, and Tenon has none. While a graph is cut, ops of Tenon's own stand in it that give
them as floating-point numbers, and casts behind them.
"""

from __future__ import annotations

import operator

import torch
from torch import fx

from tenon.importer.builder import MAX_NUMBERED, TYPES
from tenon.torch.fusion.shapes import torch_shape
from tenon.torch.fusion.views import arguments, dtype_of, op_name

aten = torch.ops.aten
_library = torch.library.Library("tenon", "FRAGMENT")
for _name in ("argmax", "argmin"):
    _library.define(f"{_name}(Tensor self, int dim, bool keepdim) -> Tensor")
PLACES = ("tenon.argmax", "tenon.argmin")
# PyTorch's ops: what gives the element, of those that do, and the place.
_OPS = {
    aten.argmax.default: (None, torch.ops.tenon.argmax.default),
    aten.argmin.default: (None, torch.ops.tenon.argmin.default),
    aten.max.dim: (aten.amax.default, torch.ops.tenon.argmax.default),
    aten.min.dim: (aten.amin.default, torch.ops.tenon.argmin.default),
}
_ORIGIN = "tenon_place"


def spell_places(graph: fx.Graph) -> None:
    """Replace what finds the places of the largest or smallest elements of rows by Tenon's op and a cast."""
    for node in list(graph.nodes):
        if node.target in _OPS and _reduces_rows(node):
            _spell(graph, node)


def _reduces_rows(node: fx.Node) -> bool:
    given = arguments(node)
    x, dim = given["self"], given["dim"]
    shape = torch_shape(x)
    is_last = shape and len(shape) > 1 and dim is not None and dim % len(shape) == len(shape) - 1
    return bool(is_last) and dtype_of(x) in TYPES and isinstance(shape[-1], int) and shape[-1] <= MAX_NUMBERED


def _spell(graph: fx.Graph, node: fx.Node) -> None:
    given, (element, place) = arguments(node), _OPS[node.target]
    x, dim, keepdim = given["self"], given["dim"], given["keepdim"]
    value = node.meta["val"] if element is None else node.meta["val"][1]
    dtype = torch.float64 if dtype_of(x) == "float64" else torch.float32
    results = {user.args[1]: user for user in node.users} if element else {1: node}
    with graph.inserting_before(node):
        found = graph.call_function(place, (x, dim, keepdim))
        index = graph.call_function(torch.ops.prims.convert_element_type.default, (found, torch.int64))
        largest = graph.call_function(element, (x, [dim], keepdim)) if element and 0 in results else None
    # Its users are found by its metadata, and so is the line of the user's code.
    found.meta = {**node.meta, "val": torch.empty_like(value, dtype=dtype), _ORIGIN: (node.target, index, largest)}
    index.meta = {**node.meta, "val": value}
    if largest is not None:
        largest.meta = {**node.meta, "val": node.meta["val"][0]}
        results[0].replace_all_uses_with(largest)
    if 1 in results:
        results[1].replace_all_uses_with(index)
    for user in results.values():
        graph.erase_node(user)
    if element:
        graph.erase_node(node)


def restore_places(graph: fx.Graph) -> None:
    """Put PyTorch's ops back where Tenon's are left."""
    for node in list(graph.nodes):
        if op_name(node) not in PLACES:
            continue
        op, index, largest = node.meta[_ORIGIN]
        with graph.inserting_before(node):
            if largest is None or largest._erased:
                op = aten.argmax.default if op_name(node) == PLACES[0] else aten.argmin.default
                results = [(graph.call_function(op, node.args), index)]
            else:
                both = graph.call_function(op, node.args)
                both.meta = {**node.meta, "val": (largest.meta["val"], index.meta["val"])}
                pieces = [graph.call_function(operator.getitem, (both, i)) for i in range(2)]
                results = list(zip(pieces, (largest, index), strict=True))
        for new, old in results:
            new.meta = dict(old.meta)
            old.replace_all_uses_with(new)
            graph.erase_node(old)
        graph.erase_node(node)
