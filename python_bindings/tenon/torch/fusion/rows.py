# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PyTorch's reductions along the last dimension in Tenon's words, and sums along the first of two."""

from __future__ import annotations

from typing import Any

import torch
from torch import fx

from tenon.importer import rows
from tenon.importer.builder import MAX_NUMBERED, InexpressibleError, Value
from tenon.importer.shapes import Shape, product
from tenon.torch.fusion.lowering import Lowering, Shifted
from tenon.torch.fusion.ops import Rule, rule
from tenon.torch.fusion.places import PLACES
from tenon.torch.fusion.shapes import torch_shape
from tenon.torch.fusion.views import arguments, cast_source, dtype_of, op_name, strip

ROWS: dict[str, Rule] = {}
# Ops of several results, of which the first has the operand's shape.
ROW_NORMS = ("aten.native_layer_norm", "aten._fused_rms_norm", "aten.native_group_norm")
# The same, of which Tenon gives the first alone.
MAX_POOL = torch.ops.aten.max_pool2d_with_indices.default
# Of a gather: nodes with its index as float32, and with the numbers of the columns.
_INDEX = "tenon_index"

_KINDS = {"amax": "max", "amin": "min"}


def is_row_norm(node: fx.Node) -> bool:
    """Tell whether a node reduces rows and has several results."""
    return op_name(node) in ROW_NORMS or node.target is MAX_POOL


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
    if node.target is MAX_POOL:
        return "max_pool"
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
    if kind in _KINDS:
        return b.cast(b.reduce_row(_KINDS[kind], x), dtype_of(node))
    matrix, shifts = b.shifted.get(x.name, Shifted(b.widen(x), ()))
    result = b.reduce_row(kind, matrix)
    for shift in shifts:
        result = b.binary("sub", result, b.binary("mul", shift, float(x.shape[1])) if kind == "sum" else shift)
    return b.cast(result, dtype_of(node))


def _place(b: Lowering, node: fx.Node, given: dict[str, Any]) -> Value:
    return b.reduce_row(kind_of(node), _rows(b, given["self"], [given["dim"]]))


ROWS.update(dict.fromkeys(PLACES, _place))


@rule(ROWS, "gather")
def _gather(b: Lowering, node: fx.Node, given: dict[str, Any]) -> Value:
    x = _rows(b, given["self"], [given["dim"]])
    if _INDEX not in node.meta:
        raise InexpressibleError("it gathers other than one element of each row")
    index, numbers = (b.tensor(n) for n in node.meta[_INDEX])
    matrix, shifts = b.shifted.get(x.name, Shifted(x, ()))
    result = rows.gather(b, matrix, numbers, index)
    for shift in shifts:
        result = b.binary("sub", result, shift)
    return b.cast(result, dtype_of(node))


def add_indices(graph: fx.Graph) -> None:
    """Add, for each gather of one element of each row, the nodes that Tenon takes of it."""
    for node in graph.find_nodes(op="call_function", target=torch.ops.aten.gather.default):
        x, dim, index = (node.args[i] for i in range(3))
        shape, columns = torch_shape(index), torch_shape(x)[-1:]
        is_one = shape and len(shape) > 1 and (*shape[:-1], 1) == (*torch_shape(x)[:-1], shape[-1])
        if not is_one or dim % len(shape) != len(shape) - 1 or not isinstance(columns[0], int):
            continue
        if columns[0] > MAX_NUMBERED:
            continue
        value = index.meta["val"]
        with graph.inserting_before(node), torch._guards.detect_fake_mode([value]):
            # Inductor has no arange but by this.
            how = {"start": 0, "step": 1, "dtype": torch.int64, "device": value.device, "requires_grad": False}
            iota = graph.call_function(torch.ops.prims.iota.default, columns, how)
            iota.meta["val"] = torch.arange(columns[0], device=value.device)
            node.meta[_INDEX] = _as_float(graph, index), _as_float(graph, iota)


def _as_float(graph: fx.Graph, node: fx.Node) -> fx.Node:
    result = graph.call_function(torch.ops.prims.convert_element_type.default, (node, torch.float32))
    result.meta["val"] = node.meta["val"].to(torch.float32)
    return result


def forget_indices(graph: fx.Graph) -> None:
    """Leave nothing of `add_indices` with the nodes."""
    for node in graph.nodes:
        node.meta.pop(_INDEX, None)


@rule(ROWS, "logsumexp", whole=True)
def _logsumexp(b: Lowering, node: fx.Node, given: dict[str, Any]) -> Value:
    x = _rows(b, given["self"], given["dim"])
    return b.cast(rows.logsumexp(b, b.widen(x)), dtype_of(node))


@rule(ROWS, "var", whole=True)
def _variance(b: Lowering, node: fx.Node, given: dict[str, Any]) -> Value:
    x = b.widen(_rows(b, given["self"], given.get("dim")))
    correction = given.get("correction", given.get("unbiased"))
    return b.cast(rows.variance(b, x, 1.0 if correction is None else float(correction)), dtype_of(node))


@rule(ROWS, "avg_pool2d", whole=True)
def _average_pool(b: Lowering, node: fx.Node, given: dict[str, Any]) -> Value:
    return b.cast(b.reduce_row("mean", b.widen(b.tensor(given["self"])), _pools(given)), dtype_of(node))


def _pools(given: dict[str, Any]) -> int:
    """Return into how many groups of neighbouring features, `[..., 1, N]`, a pooling divides them.

    Raises:
        InexpressibleError: they overlap, or are not all of one size.

    """
    *_, rows_of_image, columns = torch_shape(given["self"])
    kernel = list(given["kernel_size"])
    width = kernel[-1]
    usual = (
        all(p == 0 for p in given.get("padding") or ())
        and all(d == 1 for d in given.get("dilation") or ())
        and not given.get("ceil_mode")
        and given.get("divisor_override") is None
        and list(given.get("stride") or kernel)[-1] == width
    )
    is_of_rows = rows_of_image == 1 and len(kernel) == 2 and kernel[0] == 1
    if not (is_of_rows and usual and isinstance(columns, int) and columns % width == 0):
        raise InexpressibleError("it pools other than equal groups of neighbouring features")
    return columns // width


@rule(ROWS, "_softmax", "_log_softmax", "softmax", "log_softmax", whole=True)
def _softmax(b: Lowering, node: fx.Node, given: dict[str, Any]) -> Value:
    x = b.widen(_rows(b, given["self"], [given["dim"]]))
    if "log" not in op_name(node):
        return b.cast(rows.softmax(b, x), dtype_of(node))
    distances, *shifts = rows.log_softmax_parts(b, x)
    result = b.cast(b.binary("sub", distances, shifts[1]), dtype_of(node))
    b.shifted[result.name] = Shifted(x, tuple(shifts))
    return result


@rule(ROWS, "layer_norm", "rms_norm", "group_norm", whole=True)
def _whole_norm(b: Lowering, node: fx.Node, given: dict[str, Any]) -> Value:
    return b.cast(_normalise(b, node, given)[0], dtype_of(node))


def lower_row_norm(b: Lowering, node: fx.Node) -> dict[int, Value]:
    """Append a norm of rows, or a maximum of groups of their columns; return its results by number.

    Raises:
        InexpressibleError: Tenon has no such norm.

    """
    if node.target is MAX_POOL:
        if any(user.users and user.args[1] != 0 for user in node.users):
            raise InexpressibleError("its indices are used, as a backward pass does")
        given = arguments(node)
        return {0: b.reduce_row("max", b.tensor(given["self"]), _pools(given))}
    dtypes = [str(value.dtype).removeprefix("torch.") for value in node.meta["val"]]
    results = zip(_normalise(b, node, arguments(node)), dtypes, strict=True)
    return {i: b.cast(value, dtype) for i, (value, dtype) in enumerate(results)}


def _normalise(b: Lowering, node: fx.Node, given: dict[str, Any]) -> tuple[Value, ...]:
    if "group" in kind_of(node):
        return _normalise_groups(b, given)
    if len(given["normalized_shape"]) != 1:
        raise InexpressibleError("it normalises more than the last dimension")
    x = b.widen(_rows(b, given["input"], [-1]))
    weight = b.optional_tensor(given["weight"])
    eps = torch.finfo(getattr(torch, x.dtype)).eps if given["eps"] is None else b.number(given["eps"])
    if "rms" in op_name(node):
        return rows.rms_norm(b, x, weight, eps)
    return rows.layer_norm(b, x, weight, b.optional_tensor(given["bias"]), eps)


def _normalise_groups(b: Lowering, given: dict[str, Any]) -> tuple[Value, ...]:
    if len(torch_shape(given["input"])) != 2:
        raise InexpressibleError("its groups have more than the last dimension")
    x = b.widen(b.tensor(given["input"]))
    groups = given["group"] if "group" in given else given["num_groups"]
    weight, bias = b.optional_tensor(given["weight"]), b.optional_tensor(given["bias"])
    return rows.group_norm(b, x, groups, weight, bias, b.number(given["eps"]))


def _rows(b: Lowering, argument: fx.Node, dims: list[int] | None) -> Value:
    """Return a tensor of which an op reduces the last dimension alone.

    Raises:
        InexpressibleError: it reduces another.

    """
    shape = torch_shape(argument)
    if not shape or len(shape) < 2 or [d % len(shape) for d in dims or ()] != [len(shape) - 1]:
        raise InexpressibleError("it reduces another dimension than the last of several")
    return b.tensor(argument)
