# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What stays with PyTorch of linear layers and what follows them, and why."""

from __future__ import annotations

import operator

import torch
from torch import fx

from tenon.torch.fusion.group_function import source_line
from tenon.torch.fusion.grouping import Grouping
from tenon.torch.fusion.norms import is_norm
from tenon.torch.fusion.ops import ELEMENTWISE, LINEAR
from tenon.torch.fusion.rows import reduces_rows
from tenon.torch.fusion.specs import Missed
from tenon.torch.fusion.views import cast_source, is_view, op_name, strip, view_source
from tenon.torch.fusion.words import first_result

# Products that have no rule: a linear layer all the same.
_OTHER_PRODUCTS = {"aten.baddbmm", "aten.mv", "aten.addmv", "aten.dot", "aten.addbmm", "aten.bilinear"}


def find_missed(graph: fx.Graph, grouping: Grouping, stays: dict[fx.Node, str]) -> dict[fx.Node, Missed]:
    """Return the linear layers, and the elementwise ops on floats behind one, that no group has; and what `stays`."""
    live = grouping.live_nodes()
    behind: set[fx.Node] = set()
    missed = {}
    for node in graph.nodes:
        follows = any(n in behind for n in node.all_input_nodes)
        if _is_product(node) or (follows and (_is_elementwise(node) or _is_part(node))):
            behind.add(node)
        is_taken = node in grouping.group_of or (node in grouping.words and grouping.words[node].is_prepared)
        reason = stays.get(node) if node in live else None
        if reason is None and node in behind and node in live and not is_taken and _is_of_interest(node):
            reason = _reason(node, grouping, behind)
        if reason is not None:
            line = source_line(node)
            where = f"{line[0]}:{line[1]}" if line else None
            missed[node] = Missed(node.name, op_name(node), _sentence(reason), where)
    return missed


def sources_of(node: fx.Node) -> set[fx.Node]:
    """Return whose values a node takes, through views and not."""
    return {source for n in node.all_input_nodes for source in (n, strip(n))}


def _reason(node: fx.Node, grouping: Grouping, behind: set[fx.Node]) -> str:
    if node in grouping.reasons:
        return grouping.reasons[node]
    if _is_product(node):
        followers = sorted(_followers(node))
        if not followers:
            return "nothing follows it that could be fused with it"
        return f"what follows it ({', '.join(followers)}) cannot be fused with it"
    sources = [strip(n) for n in node.all_input_nodes if n in behind and strip(n) not in grouping.group_of]
    if not sources:
        return "no linear layer whose call it could join comes before it"
    source = sources[0].args[0] if sources[0].target is operator.getitem else sources[0]
    return f"it takes the result of {op_name(source) or source.name}, which stays with PyTorch"


def _followers(node: fx.Node) -> set[str]:
    """Return the ops that take a node's value, through views that Tenon looks through."""
    found: set[str] = set()
    for user in node.users:
        found |= _followers(user) if view_source(user) is node else {op_name(user)}
    return found - {""}


def _is_product(node: fx.Node) -> bool:
    return op_name(node) in LINEAR or op_name(node) in _OTHER_PRODUCTS


def _is_elementwise(node: fx.Node) -> bool:
    name = op_name(node)
    if not name:
        return False
    known = name in ELEMENTWISE or is_norm(node) or reduces_rows(node) or cast_source(node) is not None
    return known or torch.Tag.pointwise in node.target.tags


def _is_part(node: fx.Node) -> bool:
    """Tell whether a node gives elements of its operand as they are."""
    return node.target is operator.getitem or is_view(node) or bool(op_name(node) and node.target.is_view)


def _is_of_interest(node: fx.Node) -> bool:
    result = first_result(node)
    if result is None or not result.is_floating_point() or is_view(node):
        return False
    return _is_product(node) or _is_elementwise(node)


def _sentence(reason: str) -> str:
    return f"{reason[0].upper()}{reason[1:]}."
