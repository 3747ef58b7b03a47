# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products that are cut into ranges of columns which meet again, as in a packed gated layer.

`a, b = (x @ w.T).chunk(2, -1); y = a * gelu(b)` becomes two products by rows of w, which are views of it, so that the
epilogue of one reads the other's result.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection
from typing import NamedTuple

import torch
from torch import fx

from tenon.torch.fusion.nodes import insert
from tenon.torch.fusion.ops import ELEMENTWISE
from tenon.torch.fusion.readers import leaves_graph
from tenon.torch.fusion.views import arguments, dtype_of, op_name, view_source

_PRODUCTS = ("aten.mm", "aten.addmm")
_TRANSPOSES = ("aten.t", "aten.permute", "aten.transpose")
_NARROW = ("float16", "bfloat16")  # no work on the weights comes before their products
_ALIGNMENT = 16  # bytes, of what TMA and wide loads can begin at

aten = torch.ops.aten


class Columns(NamedTuple):
    """A node that is columns `begin` to `end` of a product, in the product's shape or in another of the same rows."""

    node: fx.Node
    begin: int
    end: int


def products_to_cut(graph: fx.Graph) -> set[str]:
    """Return the names of the products whose ranges of columns meet in an elementwise op, and nothing else reads.

    Args:
        graph: of ATen ops whose nodes have fake tensors as `meta["val"]`.

    """
    found = set()
    for node in graph.nodes:
        if op_name(node) in _PRODUCTS and dtype_of(node) in _NARROW:
            ranges = ranges_of(node)
            if ranges and _fits(node, ranges) and _meet(ranges):
                found.add(node.name)
    return found


def cut_products(graph: fx.Graph, names: Collection[str]) -> dict[str, list[fx.Node]]:
    """Cut some of `products_to_cut` in place; return the new products by the name of the one that they stand for."""
    cut = {}
    for node in list(graph.nodes):
        if node.name in names:
            cut[node.name] = [_cut(graph, node, columns) for columns in ranges_of(node)]
    return cut


def ranges_of(product: fx.Node) -> list[Columns]:
    """Return the ranges of columns that a product is cut into, in the order in which they are taken."""
    return _ranges(product, product.meta["val"].shape[-1]) or []


def _ranges(node: fx.Node, width: int) -> list[Columns] | None:
    """Return the ranges of columns that a node is cut into; None where it is read in another way too."""
    found: list[Columns] = []
    for user in node.users:
        last = node.meta["val"].dim() - 1
        if op_name(user) in ("aten.split", "aten.split_with_sizes") and arguments(user)["dim"] % (last + 1) == last:
            begin, parts = 0, {piece.args[1]: piece for piece in user.users}
            for i, value in enumerate(user.meta["val"]):
                if i in parts:
                    found.append(Columns(parts[i], begin, begin + value.shape[-1]))
                begin += value.shape[-1]
        elif op_name(user) == "aten.slice" and arguments(user)["dim"] % (last + 1) == last:
            given = arguments(user)
            begin, end, step = slice(given["start"], given["end"], given["step"]).indices(width)
            if step != 1:
                return None
            found.append(Columns(user, begin, end))
        elif view_source(user) is node and user.meta["val"].shape[-1:] == (width,):
            behind = _ranges(user, width)
            if behind is None:
                return None
            found += behind
        else:
            return None
    return found


def _fits(product: fx.Node, ranges: list[Columns]) -> bool:
    """Tell whether the weight is `[N, K]` whose rows can be taken where they lie, and each range is there but once.

    None may be a result of the graph, which has the product's strides.
    """
    weight = product.args[-1]
    rows = weight.args[0].meta["val"] if op_name(weight) in _TRANSPOSES else None
    if rows is None or not all(isinstance(d, int) for d in rows.shape) or not rows.is_contiguous():
        return False
    if any(len(_dynamic(columns.node)) > 1 for columns in ranges) or leaves_graph(product):
        return False
    distinct = {(columns.begin, columns.end) for columns in ranges}
    row = rows.shape[1] * rows.element_size()
    return len(ranges) == len(distinct) >= 2 and all(begin * row % _ALIGNMENT == 0 for begin, _ in distinct)


def _dynamic(node: fx.Node) -> list[torch.SymInt]:
    return [d for d in node.meta["val"].shape if not isinstance(d, int)]


def _meet(ranges: list[Columns]) -> bool:
    """Tell whether each range reaches an elementwise op that another one reaches too."""
    reached = [_reach(columns.node) for columns in ranges]
    return all(any(own & other for other in reached if other is not own) for own in reached)


def _reach(node: fx.Node) -> set[fx.Node]:
    found: set[fx.Node] = set()
    stack = [node]
    while stack:
        for user in stack.pop().users:
            if user not in found and (op_name(user) in ELEMENTWISE or view_source(user) is not None):
                found.add(user)
                stack.append(user)
    return found


def _cut(graph: fx.Graph, product: fx.Node, columns: Columns) -> fx.Node:
    """Put the product by a range of the weight's rows in the place of that range of columns."""
    *before, x, weight = product.args
    place = functools.partial(insert, like=product)
    with graph.inserting_before(product):
        rows = place(aten.slice.Tensor, weight.args[0], 0, columns.begin, columns.end)
        part = place(weight.target, rows, *weight.args[1:])
        bias = [_columns_of(b, columns, place) for b in before]
        new = place(product.target, *bias, x, part, **product.kwargs)
    with graph.inserting_before(columns.node):
        shape = [d if isinstance(d, int) else -1 for d in columns.node.meta["val"].shape]
        result = place(aten.reshape.default, new, shape)
    columns.node.replace_all_uses_with(result)
    graph.erase_node(columns.node)
    return new


def _columns_of(bias: fx.Node, columns: Columns, place: Callable[..., fx.Node]) -> fx.Node:
    if bias.meta["val"].shape[-1:] in ((), (1,)):  # for all columns
        return bias
    return place(aten.slice.Tensor, bias, bias.meta["val"].dim() - 1, columns.begin, columns.end)
