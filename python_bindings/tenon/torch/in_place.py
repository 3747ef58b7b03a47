# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Turns `buffer.copy_(op(buffer, ...))` back into `buffer.op_(...)`."""

from __future__ import annotations

from typing import Any

import torch
from torch import fx

aten = torch.ops.aten


def restore_in_place(graph: fx.Graph) -> None:
    """Undo what making a graph functional did to counters, such as batch norm's.

    A copy at the end of the graph and the op behind it, which has no other use, become
    one op: one kernel in place of two.
    """
    for copy in graph.find_nodes(op="call_function", target=aten.copy_.default):
        buffer, value = copy.args[:2]
        target = _in_place_form(value)
        if target is None or buffer.op != "placeholder" or value.args[0] is not buffer:
            continue
        if set(value.users) != {copy} or not _is_last_use(buffer, value, copy):
            continue
        if buffer.meta["val"].dtype != value.meta["val"].dtype or buffer.meta["val"].shape != value.meta["val"].shape:
            continue
        with graph.inserting_before(copy):
            graph.call_function(target, value.args, value.kwargs).meta.update(copy.meta)
        graph.erase_node(copy)
        graph.erase_node(value)


def _in_place_form(value: Any) -> Any:
    """Return the op that writes to its first argument what `value` computes."""
    if not isinstance(value, fx.Node) or not isinstance(value.target, torch._ops.OpOverload) or not value.args:
        return None
    packet = getattr(aten, value.target._schema.name.removeprefix("aten::") + "_", None)
    return getattr(packet, value.target._overloadname, None)


def _is_last_use(buffer: fx.Node, value: fx.Node, copy: fx.Node) -> bool:
    """Tell whether nothing between the two nodes or behind them needs the old value."""
    return all(user in (value, copy) or user < value for user in buffer.users)
