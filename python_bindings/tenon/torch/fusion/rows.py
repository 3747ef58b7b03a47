# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PyTorch's reductions along the last dimension in Tenon's words, and sums along the first of two."""

from __future__ import annotations

from typing import Any

import torch
from torch import fx

from tenon.importer import rows
from tenon.importer.builder import InexpressibleError, Value
from tenon.importer.shapes import Shape, product
from tenon.torch.fusion.lowering import Lowering
from tenon.torch.fusion.ops import Rule, rule
from tenon.torch.fusion.shapes import torch_shape
from tenon.torch.fusion.views import arguments, cast_source, dtype_of, op_name, strip

ROWS: dict[str, Rule] = {}
# Ops of several results, of which the first has the operand's shape.
ROW_NORMS = ("aten.native_layer_norm", "aten._fused_rms_norm")
# What one tile has of a row.
_MAX_COLUMNS = 256

_KINDS = {"amax": "max", "amin": "min"}


def is_row_norm(node: fx.Node) -> bool:
    """Tell whether a node normalises rows and gives their statistics too."""
    return op_name(node) in ROW_NORMS


def reduces_rows(node: fx.Node) -> bool:
    """Tell whether a node's rule is one of these, so that its operand's rows are what it needs."""
    return op_name(node) in ROWS or is_row_norm(node)


def sums_columns(node: fx.Node) -> bool:
    """Tell whether a node gives the sum of each column of a matrix, as a bias' gradient is."""
    if op_name(node) != "aten.sum":
        return False
    given = arguments(node)
    dims = given.get("dim")
    return len(torch_shape(given["self"]) or ()) == 2 and bool(dims) and [d % 2 for d in dims] == [0]


def kind_of(node: fx.Node) -> str:
    """Return what one of these is called, such as "layer_norm"."""
    name = op_name(node).partition(".")[2].lstrip("_")
    return name.removeprefix("native_").removeprefix("fused_")


def rows_of_result(node: fx.Node) -> Shape | None:
    """Return `[M, 1]` where a node gives one value a row without a dimension for it, and Tenon has one."""
    drops = op_name(node) in ROWS and arguments(node).get("keepdim") is False and not sums_columns(node)
    return (product(torch_shape(node)), 1) if drops else None


@rule(ROWS, "sum", "mean", "amax", "amin")
def _reduce(b: Lowering, node: fx.Node, given: dict[str, Any]) -> Value:
    if sums_columns(node):
        if torch_shape(given["self"])[0] == 1:
            raise InexpressibleError("it is the sum of one row")
        # What is widened only to be summed is summed in float32 as it is.
        x = strip(given["self"])
        source = cast_source(x) if op_name(x) and dtype_of(x) == "float32" else None
        return b.batch_sum(b.tensor(x if source is None else source), dtype_of(node))
    x = _rows(b, given["self"], given.get("dim"))
    kind = node.target._opname
    wide = x if kind in _KINDS else b.widen(x)
    return b.cast(b.reduce_row(_KINDS.get(kind, kind), wide), dtype_of(node))


@rule(ROWS, "logsumexp", whole=True)
def _logsumexp(b: Lowering, node: fx.Node, given: dict[str, Any]) -> Value:
    x = _rows(b, given["self"], given["dim"])
    return b.cast(rows.logsumexp(b, b.widen(x)), dtype_of(node))


@rule(ROWS, "_softmax", "_log_softmax", "softmax", "log_softmax", whole=True)
def _softmax(b: Lowering, node: fx.Node, given: dict[str, Any]) -> Value:
    x = _rows(b, given["self"], [given["dim"]])
    normalise = rows.log_softmax if "log" in op_name(node) else rows.softmax
    return b.cast(normalise(b, b.widen(x)), dtype_of(node))


@rule(ROWS, "layer_norm", "rms_norm", whole=True)
def _whole_norm(b: Lowering, node: fx.Node, given: dict[str, Any]) -> Value:
    return b.cast(_normalise(b, node, given)[0], dtype_of(node))


def lower_row_norm(b: Lowering, node: fx.Node) -> dict[int, Value]:
    """Append a layer norm or RMS norm; return its results by number.

    Raises:
        InexpressibleError: Tenon has no such norm.

    """
    dtypes = [str(value.dtype).removeprefix("torch.") for value in node.meta["val"]]
    results = zip(_normalise(b, node, arguments(node)), dtypes, strict=True)
    return {i: b.cast(value, dtype) for i, (value, dtype) in enumerate(results)}


def _normalise(b: Lowering, node: fx.Node, given: dict[str, Any]) -> tuple[Value, ...]:
    if len(given["normalized_shape"]) != 1:
        raise InexpressibleError("it normalises more than the last dimension")
    x = b.widen(_rows(b, given["input"], [-1]))
    weight = b.optional_tensor(given["weight"])
    eps = torch.finfo(getattr(torch, x.dtype)).eps if given["eps"] is None else b.number(given["eps"])
    if "rms" in op_name(node):
        return rows.rms_norm(b, x, weight, eps)
    return rows.layer_norm(b, x, weight, b.optional_tensor(given["bias"]), eps)


def _rows(b: Lowering, argument: fx.Node, dims: list[int] | None) -> Value:
    """Return a tensor of which an op reduces the last dimension alone.

    Raises:
        InexpressibleError: it reduces another, or rows are longer than a tile's.

    """
    shape = torch_shape(argument)
    if not shape or len(shape) < 2 or [d % len(shape) for d in dims or ()] != [len(shape) - 1]:
        raise InexpressibleError("it reduces another dimension than the last of several")
    if not isinstance(shape[-1], int) or shape[-1] > _MAX_COLUMNS:
        raise InexpressibleError(f"it reduces rows of {shape[-1]} elements, and a tile has {_MAX_COLUMNS} at most")
    return b.tensor(argument)
