# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ops that reach Tenon whole, and are decomposed for Inductor where Tenon leaves them."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import fx
from torch.fx.experimental.proxy_tensor import make_fx

from tenon.torch.choice.candidate import hinted
from tenon.torch.fusion.gradients import GRADIENTS
from tenon.torch.fusion.norm_gradients import (
    NORM_GRADIENT,
    drop_sums,
    gradients,
    gradients_and_scale,
    take_scale,
    without_running,
)
from tenon.torch.fusion.norms import FORMS
from tenon.torch.fusion.ops import WHOLE
from tenon.torch.fusion.rows import MAX_POOL, ROW_NORMS
from tenon.torch.fusion.shapes import is_row_major
from tenon.torch.fusion.tall import is_tall

aten = torch.ops.aten
# Decomposed in training, where a backward pass would be given more than it needs: of a softmax its result in float32
# beside, or in place of, its operand in 16 bits and values of rows; of a pooling indices of 64 bits.
_IN_TRAINING = aten._softmax.default, aten._log_softmax.default, MAX_POOL
_WHOLE = frozenset({*FORMS, *ROW_NORMS, *GRADIENTS, *WHOLE})


class Table(dict[Any, Callable[..., Any]]):
    """Decompositions by op. Inductor has them in the keys of its caches, where a name stands for the functions."""

    def __reduce__(self) -> tuple[Callable[[], Table], tuple[()]]:
        """Return what gives the table again."""
        return inductors_table, ()


@functools.cache
def inductors_table() -> Table:
    """Return Inductor's decompositions without those of the ops that stay whole."""
    table = Table({op: rule for op, rule in _everything().items() if _name(op) not in _WHOLE})
    table[NORM_GRADIENT] = functools.partial(without_running, table[NORM_GRADIENT])
    for op in _IN_TRAINING:
        table[op] = functools.partial(_in_training, _everything()[op])
    return table


@functools.cache
def whole_table() -> dict[Any, Callable[..., Any]]:
    """Return Inductor's decompositions of the ops that stay whole."""
    own = NORM_GRADIENT, *_IN_TRAINING
    return {op: rule for op, rule in _everything().items() if _name(op) in _WHOLE or op in own}


def _in_training(rule: Callable[..., Any], x: torch.Tensor, *given: Any, **named: Any) -> Any:
    """Decompose where a backward pass may follow."""
    return rule(x, *given, **named) if torch.is_grad_enabled() else NotImplemented


def _everything() -> dict[Any, Callable[..., Any]]:
    from torch._inductor.decomposition import select_decomp_table

    return select_decomp_table()


def decompose(graph: fx.Graph) -> None:
    """Replace the ops that stayed whole, where a graph still has them, by what Inductor makes of them."""
    whole = whole_table()
    for node in list(graph.nodes):
        if node.op == "call_function" and node.target in whole:
            _replace(graph, node, whole[node.target])


def spell_out(graph: fx.Graph) -> None:
    """Replace batch norms' backward passes by what Tenon has words for, and outer products by elementwise ones."""
    for node in graph.find_nodes(op="call_function", target=NORM_GRADIENT):
        drop_sums(node)
        scaled = take_scale(node)
        if scaled is None:
            _replace(graph, node, gradients)
        else:
            _replace(graph, node, gradients_and_scale, scaled)
    for op, rule in _OUTER.items():
        for node in graph.find_nodes(op="call_function", target=op):
            if node.args[-1].meta["val"].shape[-2] == 1:
                _replace(graph, node, rule)


def spell_out_vectors(graph: fx.Graph) -> list[str]:
    """Replace products of a large matrix and a vector by products of elements and their sums.

    A kernel of Inductor's, or the layer that makes the matrix, then has them on the way. Returns which, as sentences.
    """
    notes = []
    for op, rule in _INNER.items():
        for node in graph.find_nodes(op="call_function", target=op):
            if _is_of_vector(node):
                notes.append(f"{node.name}, a product by a vector, is computed as products and their sum")
                _replace(graph, node, rule)
    return notes


def _is_of_vector(node: fx.Node) -> bool:
    """Tell whether a node is the product of a vector and a tall matrix that lies by rows.

    cuBLAS reads such a matrix at half of the memory's rate: of 262144x256 in bf16 products by vectors took 76 and 61
    us, and what is read 32 (an H200, 2026-11-29).
    """
    x, w = (n.meta["val"] for n in node.args[-2:])
    matrix = x if hinted(w.shape)[1] == 1 else w if hinted(x.shape)[0] == 1 else None
    if matrix is None or matrix.dtype not in _SUMMED or not is_row_major(matrix):
        return False
    return is_tall(matrix.shape, matrix.dtype)


def _inner(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return _wide_inner(x, w).to(x.dtype)


def _inner_sum(
    addend: torch.Tensor, x: torch.Tensor, w: torch.Tensor, *, beta: float = 1, alpha: float = 1
) -> torch.Tensor:
    y = _wide_inner(x, w)
    y = y if alpha == 1 else y * alpha
    if beta != 0:
        y = y + (addend if beta == 1 else addend * beta)
    return y.to(x.dtype)


def _wide_inner(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    """Return the product of a matrix and a vector, summed up in float32 at least as cuBLAS's is."""
    x, w = x.float(), w.float()
    return (x * w.t()).sum(1, keepdim=True) if w.shape[1] == 1 else (x.t() * w).sum(0, keepdim=True)


def _outer_sum(
    addend: torch.Tensor, column: torch.Tensor, row: torch.Tensor, *, beta: float = 1, alpha: float = 1
) -> torch.Tensor:
    outer = column * row * alpha
    return outer + addend * beta if beta != 0 else outer


_INNER = {aten.mm.default: _inner, aten.addmm.default: _inner_sum}
_SUMMED = (torch.float16, torch.bfloat16, torch.float32)
# Products of a column and a row, such as the gradient of what a layer of one feature reads: Inductor has them computed
# where they are read, and not written.
_OUTER = {aten.mm.default: operator.mul, aten.bmm.default: operator.mul, aten.addmm.default: _outer_sum}


def _replace(graph: fx.Graph, node: fx.Node, rule: Callable[..., Any], more: Sequence[fx.Node] = ()) -> None:
    operands = list(dict.fromkeys([*node.all_input_nodes, *more]))

    def decomposed(*values: Any) -> Any:
        given = dict(zip(operands, values, strict=True))
        args, kwargs = fx.map_arg((node.args, node.kwargs), given.__getitem__)
        results = rule(*args, *(given[n] for n in more), **kwargs)
        return tuple(results) if isinstance(results, tuple) else results  # of a named one fx would make a call

    fakes = [n.meta["val"] for n in operands]
    with torch._guards.detect_fake_mode(fakes):
        # One of these ops may be made of another.
        traced = make_fx(decomposed, decomposition_table=_everything(), tracing_mode="real")(*fakes)
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
