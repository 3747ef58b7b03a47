# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of which some columns are never read, as the gradient of `cat([a, b], -1)` where `a` needs none.

Only the others are computed: by the weight's columns for these, which are copied unless they lie as rows.
"""

from __future__ import annotations

import functools

import torch
from torch import fx

from tenon.torch.choice.candidate import hinted
from tenon.torch.fusion.columns import Columns, ranges_of
from tenon.torch.fusion.nodes import insert
from tenon.torch.fusion.readers import leaves_graph
from tenon.torch.fusion.rewrite import sweep
from tenon.torch.fusion.views import is_turned

aten = torch.ops.aten
# What a product does not write has to be more than what is copied for it, and than a launch costs.
_LEAST_BYTES = 1 << 20


def find_unread(graph: fx.Graph) -> list[fx.Node]:
    """Return the products that had better leave columns that nothing reads."""
    return [node for node in graph.find_nodes(op="call_function", target=aten.mm.default) if _leaves_columns(node)]


def leave_unread(graph: fx.Graph) -> list[str]:
    """Have products compute the columns alone that are read; return what was done, as sentences."""
    notes = []
    for node in find_unread(graph):
        ranges = ranges_of(node)
        begin, end = _hull(ranges)
        notes.append(f"of {node.name} columns {begin} to {end} are computed, since nothing reads the others")
        _narrow(graph, node, ranges)
    sweep(graph, (), ())
    return notes


def _leaves_columns(node: fx.Node) -> bool:
    ranges = ranges_of(node) if isinstance(node.meta["val"].shape[1], int) else []
    if not ranges or not all(_is_plain(columns.node) for columns in ranges) or leaves_graph(node):
        return False
    return _gains(node, *_hull(ranges))


def _hull(ranges: list[Columns]) -> tuple[int, int]:
    return min(columns.begin for columns in ranges), max(columns.end for columns in ranges)


def _gains(product: fx.Node, begin: int, end: int) -> bool:
    (m, n), k = hinted(product.meta["val"].shape), hinted(product.args[0].meta["val"].shape)[1]
    unread = m * (n - end + begin)
    return unread > 2 * k * (end - begin) and unread * product.meta["val"].element_size() >= _LEAST_BYTES


def _is_plain(node: fx.Node) -> bool:
    return sum(not isinstance(d, int) for d in node.meta["val"].shape) <= 1


def _narrow(graph: fx.Graph, product: fx.Node, ranges: list[Columns]) -> None:
    begin, end = _hull(ranges)
    place = functools.partial(insert, like=product)
    x, w = product.args
    with graph.inserting_before(product):
        if is_turned(w):  # of a layer's weight, whose rows the columns are
            columns = place(w.target, place(aten.slice.Tensor, w.args[0], 0, begin, end), *w.args[1:])
        else:
            columns = place(aten.slice.Tensor, w, 1, begin, end)
            columns = place(aten.clone.default, columns, memory_format=torch.contiguous_format)
        new = place(aten.mm.default, x, columns)
    for columns in ranges:
        with graph.inserting_before(columns.node):
            part = new
            if (columns.begin, columns.end) != (begin, end):
                part = place(aten.slice.Tensor, new, 1, columns.begin - begin, columns.end - begin)
            shape = [d if isinstance(d, int) else -1 for d in columns.node.meta["val"].shape]
            part = place(aten.reshape.default, part, shape)
        columns.node.replace_all_uses_with(part)
