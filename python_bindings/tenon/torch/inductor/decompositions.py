# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ops that reach Tenon whole, and are decomposed for Inductor where Tenon leaves them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch import fx
from torch.fx.experimental.proxy_tensor import make_fx

from tenon.torch.fusion.norms import FORMS

Table = dict[Any, Callable[..., Any]]
_ACTIVATIONS = (
    "clamp",
    "gelu",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "leaky_relu",
    "mish",
    "relu6",
    "silu",
    "threshold",
)
_WHOLE = frozenset({*FORMS, *(f"aten.{name}" for name in _ACTIVATIONS)})


@functools.cache
def tables() -> tuple[Table, Table]:
    """Return Inductor's table of decompositions without the ops that stay whole, and the part with these."""
    from torch._inductor.decomposition import select_decomp_table

    everything = select_decomp_table()
    whole = {op: rule for op, rule in everything.items() if _name(op) in _WHOLE}
    return {op: rule for op, rule in everything.items() if op not in whole}, whole


def decompose(graph: fx.Graph, table: Table, whole: Table) -> None:
    """Replace the ops of `whole` that a graph still has by what they are made of, in terms of `table`."""
    for node in list(graph.nodes):
        if node.op == "call_function" and node.target in whole:
            _replace(graph, node, whole[node.target], table)


def _replace(graph: fx.Graph, node: fx.Node, rule: Callable[..., Any], table: Table) -> None:
    operands = node.all_input_nodes

    def decomposed(*values: Any) -> Any:
        given = dict(zip(operands, values, strict=True))
        args, kwargs = fx.map_arg((node.args, node.kwargs), given.__getitem__)
        return rule(*args, **kwargs)

    fakes = [n.meta["val"] for n in operands]
    with torch._guards.detect_fake_mode(fakes):
        traced = make_fx(decomposed, decomposition_table=table, tracing_mode="real")(*fakes)
    placeholders = traced.graph.find_nodes(op="placeholder")
    with graph.inserting_before(node):
        results = graph.graph_copy(traced.graph, dict(zip(placeholders, operands, strict=True)))
    if isinstance(results, fx.Node):
        node.replace_all_uses_with(results)
    for user in list(node.users):  # operator.getitem
        user.replace_all_uses_with(results[user.args[1]])
        graph.erase_node(user)
    graph.erase_node(node)


def _name(op: Any) -> str:
    return f"{op.namespace}.{op._opname}" if isinstance(op, torch._ops.OpOverload) else ""
