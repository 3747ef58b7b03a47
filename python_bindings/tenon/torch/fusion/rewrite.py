# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Puts calls of fused code into a graph, and removes what they replace."""

from __future__ import annotations

import heapq
import operator
from collections.abc import Collection
from typing import Any

from torch import fx

from tenon.torch.fusion.group_function import GroupFunction
from tenon.torch.fusion.views import op_name


def fused(*tensors: Any) -> Any:
    """Stand for a call until the compiled code takes its place."""
    raise NotImplementedError("tenon: this graph was cut but not compiled")


def replace_group(
    graph: fx.Graph, first: fx.Node, function: GroupFunction, name: str, replaced: dict[fx.Node, fx.Node]
) -> fx.Node:
    """Insert the call of a function and have its results used.

    Args:
        graph: where to insert it.
        first: the first of the nodes that it stands for; it stands there, or behind its last argument.
        function: what is called.
        name: of the call.
        replaced: the results of earlier calls, by the nodes that they stand for; this call's are added.

    """
    order = {node: i for i, node in enumerate(graph.nodes)}
    arguments = tuple(replaced.get(node, node) for node in function.arguments)
    last = max(arguments, key=order.__getitem__)
    with graph.inserting_before(first) if order[last] < order[first] else graph.inserting_after(last):
        call = graph.call_function(fused, arguments)
    call._rename(name)
    call.meta["val"] = tuple((r.node or r.in_place).meta["val"] for r in function.results)
    position = call
    for i, result in enumerate(function.results):
        if result.in_place is not None:
            if result.node is not None:
                graph.erase_node(result.node)  # the copy
            continue
        with graph.inserting_after(position):
            position = graph.call_function(operator.getitem, (call, i))
        position.meta = dict(result.node.meta)
        result.node.replace_all_uses_with(position)
        replaced[result.node] = position
    return call


def sweep(graph: fx.Graph, members: Collection[fx.Node], calls: Collection[fx.Node]) -> None:
    """Erase members of groups, and all else that nothing needs any more."""
    for node in reversed(graph.nodes):
        is_fixed = node.op in ("placeholder", "output") or node in calls
        if not node.users and not is_fixed and (node in members or not node.is_impure()):
            graph.erase_node(node)


def sort_graph(graph: fx.Graph) -> None:
    """Put every node behind what it needs, and change the order no further.

    A node that writes to a tensor stays where it is among those that take the tensor.
    """
    nodes = list(graph.nodes)
    order = {node: i for i, node in enumerate(nodes)}
    if all(order[n] < order[node] for node in nodes for n in node.all_input_nodes):
        return
    needs = {node: set(node.all_input_nodes) for node in nodes}
    for node in nodes:
        if node.is_impure() and op_name(node):
            for user in {u for n in node.all_input_nodes for u in n.users} - {node}:
                later, earlier = (user, node) if order[user] > order[node] else (node, user)
                needs[later].add(earlier)
    users: dict[fx.Node, list[fx.Node]] = {node: [] for node in nodes}
    for node, needed in needs.items():
        for n in needed:
            users[n].append(node)
    waits = {node: len(needed) for node, needed in needs.items()}
    ready = [order[node] for node in nodes if waits[node] == 0]
    heapq.heapify(ready)
    root = graph._root
    while ready:
        node = nodes[heapq.heappop(ready)]
        root.prepend(node)
        for user in users[node]:
            waits[user] -= 1
            if waits[user] == 0:
                heapq.heappush(ready, order[user])
