# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Turns `value = op(buffer, ...)` with `buffer.copy_(value)` back into `buffer.op_(...)`."""

from __future__ import annotations

from typing import Any

import torch
from torch import fx

aten = torch.ops.aten


def restore_in_place(graph: fx.Graph) -> None:
    """Undo what making a graph functional did to counters, such as batch norm's, and to inputs.

    Where nothing needs the old value behind the op, the op writes to the buffer itself,
    and the copy at the end of the graph goes: one kernel in place of two.
    """
    for copy in graph.find_nodes(op="call_function", target=aten.copy_.default):
        buffer, value = copy.args[:2]
        target = _in_place_form(value)
        if target is None or buffer.op != "placeholder" or value.args[0] is not buffer:
            continue
        if any(user not in (value, copy) and (value < user or _is_view(user)) for user in buffer.users):
            continue
        if buffer.meta["val"].dtype != value.meta["val"].dtype or buffer.meta["val"].shape != value.meta["val"].shape:
            continue
        with graph.inserting_before(value):
            changed = graph.call_function(target, value.args, value.kwargs)
        changed.meta.update(value.meta)
        value.replace_all_uses_with(changed)
        copy.replace_all_uses_with(changed)  # AOTAutograd has graphs return copies
        graph.erase_node(copy)
        graph.erase_node(value)


def _in_place_form(value: Any) -> Any:
    """Return the op that writes to its first argument what `value` computes."""
    if not isinstance(value, fx.Node) or not isinstance(value.target, torch._ops.OpOverload) or not value.args:
        return None
    packet = getattr(aten, value.target._schema.name.removeprefix("aten::") + "_", None)
    return getattr(packet, value.target._overloadname, None)


def _is_view(node: fx.Node) -> bool:
    """Tell whether a node's result shares memory with what it takes."""
    schema = getattr(node.target, "_schema", None)
    return schema is not None and any(result.alias_info is not None for result in schema.returns)
