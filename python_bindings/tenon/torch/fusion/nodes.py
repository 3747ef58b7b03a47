# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""New nodes for a graph, with what others ask of them."""

from __future__ import annotations

from typing import Any

import torch
from torch import fx


def insert(op: torch._ops.OpOverload, *args: Any, like: fx.Node | None = None, **kwargs: Any) -> fx.Node:
    """Insert an op where the graph of its operands has its cursor, with its fake tensor; return it.

    All else that is known of it, such as the line of code that it is from, is what is known of `like`.
    """
    operands: list[fx.Node] = []
    fx.map_arg((args, kwargs), operands.append)
    given, named = fx.map_arg((args, kwargs), lambda n: n.meta["val"])
    node = operands[0].graph.call_function(op, args, kwargs)
    node.meta = {**(like.meta if like else {}), "val": op(*given, **named)}
    return node
