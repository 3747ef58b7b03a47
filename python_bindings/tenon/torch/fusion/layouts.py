# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How the matrices that a graph is given lie in memory.

A graph shows a transpose that it makes itself; of one that its caller made, such as a weight `w.t()` or scales of
blocks of `torch._scaled_mm`, it has the strides. While a graph is cut, the matrix that lies there row by row stands
behind such an input, and the input's transpose behind that: so what multiplies it takes it as it lies, without a copy.
"""

from __future__ import annotations

from collections.abc import Collection

import torch
from torch import fx

from tenon.torch.fusion.ops import LINEAR
from tenon.torch.fusion.shapes import torch_shape
from tenon.torch.fusion.views import LIES_BY_ROWS, op_name, replay

_TRANSPOSE = torch.ops.aten.permute.default


def spell_layouts(graph: fx.Graph, parameters: Collection[str]) -> None:
    """Have products take inputs that lie column by column as transposes of what lies row by row.

    Parameters that lie so are laid out once.
    """
    for node in graph.find_nodes(op="placeholder"):
        if node.name not in parameters and _lies_by_columns(node):
            _spell(graph, node)


def restore_layouts(graph: fx.Graph) -> None:
    """Have what still takes such a transpose take the input."""
    for rows in graph.find_nodes(op="call_function", target=_TRANSPOSE):
        if rows.meta.pop(LIES_BY_ROWS, False):
            for columns in [user for user in rows.users if user.target is _TRANSPOSE]:
                columns.replace_all_uses_with(rows.args[0])
                graph.erase_node(columns)
            if not rows.users:
                graph.erase_node(rows)


def _lies_by_columns(node: fx.Node) -> bool:
    shape = torch_shape(node)
    if shape is None or len(shape) != 2 or not all(isinstance(d, int) and d > 1 for d in shape):
        return False
    tensor = node.meta["val"]
    strides = tensor.stride() if tensor.layout is torch.strided else (0, 0)
    return strides[0] == 1 and isinstance(strides[1], int) and strides[1] >= shape[0]


def _spell(graph: fx.Graph, node: fx.Node) -> None:
    taking = [user for user in node.users if op_name(user) in LINEAR or replay(user, node.meta["val"]) is not None]
    if not taking:
        return
    with graph.inserting_after(node):
        rows = graph.call_function(_TRANSPOSE, (node, [1, 0]))
    with graph.inserting_after(rows):
        columns = graph.call_function(_TRANSPOSE, (rows, [1, 0]))
    rows.meta = {"val": node.meta["val"].t(), LIES_BY_ROWS: True}
    columns.meta = {"val": node.meta["val"]}
    node.replace_all_uses_with(columns, delete_user_cb=lambda user: user in taking)
