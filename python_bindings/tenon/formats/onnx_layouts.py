# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What ops of ONNX that order, choose and compare elements are in linalg and tensor ops."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from tenon.formats.onnx_ops import Tensor, rule
from tenon.importer import tensors
from tenon.importer.builder import TYPES, WHOLE_TYPES, Factor, InexpressibleError
from tenon.importer.shapes import Shape
from tenon.importer.tensors import static

if TYPE_CHECKING:
    import onnx

    from tenon.formats.onnx_graph import Graph


# Shapes


@rule("Reshape", "Flatten", "Squeeze", "Unsqueeze")
def _view(g: Graph, node: onnx.NodeProto, given: dict[str, Any]) -> Tensor:
    x = g.tensor(node.input[0])
    if all(isinstance(extent, int) for extent in x.shape):
        return tensors.view(g.builder, x, _new_shape(g, node, given, x.shape))
    from tenon.formats.onnx_graph import flatten

    new = g.shape_of(node.output[0])
    if new is None or len(new) < 2 or x.shape[-1] != new[-1]:
        static(x.shape)  # says which are not
    rows_now, rows_then = flatten(new)[0], x.value.shape[0] if len(x.value.shape) == 2 else 1
    if isinstance(rows_now, int) and isinstance(rows_then, int) and rows_now != rows_then:
        raise InexpressibleError("it changes the rows of a tensor")
    return Tensor(x.value, new)


def _new_shape(g: Graph, node: onnx.NodeProto, given: dict[str, Any], shape: Shape) -> Shape:
    if node.op_type == "Flatten":
        axis = given.get("axis", 1) % (len(shape) + 1)
        return math.prod(shape[:axis]), math.prod(shape[axis:])
    numbers = given.get("axes")
    if numbers is None and len(node.input) > 1 and node.input[1]:
        numbers = g.array(node.input[1]).tolist()
    if node.op_type == "Squeeze":
        axes = [axis % len(shape) for axis in numbers] if numbers else [i for i, e in enumerate(shape) if e == 1]
        return tuple(e for i, e in enumerate(shape) if i not in axes)
    if node.op_type == "Unsqueeze":
        rank = len(shape) + len(numbers)
        added, rest = {axis % rank for axis in numbers}, iter(shape)
        return tuple(1 if i in added else next(rest) for i in range(rank))
    keeps = not given.get("allowzero", 0)
    new = [shape[i] if n == 0 and keeps else n for i, n in enumerate(numbers)]
    rest = math.prod(e for e in new if e != -1)
    return tuple(math.prod(shape) // max(rest, 1) if e == -1 else e for e in new)


@rule("Transpose")
def _transpose(g: Graph, node: onnx.NodeProto, given: dict[str, Any]) -> Tensor:
    x = g.tensor(node.input[0])
    return tensors.transpose(g.builder, x, given.get("perm", list(range(len(x.shape)))[::-1]))


@rule("Expand")
def _expand(g: Graph, node: onnx.NodeProto, _: dict[str, Any]) -> Tensor:
    x = g.tensor(node.input[0])
    shape = tensors.broadcast_all(x.shape, tuple(g.array(node.input[1]).tolist()))
    return x if shape == x.shape else tensors.pointwise(g.builder, [x], x.value.dtype, lambda e: ([], e[0]), shape)


# Parts


@rule("Slice")
def _slice(g: Graph, node: onnx.NodeProto, given: dict[str, Any]) -> Tensor:
    x = g.tensor(node.input[0])
    names = [*node.input[1:], "", "", ""]
    begins, ends = (
        given.get(key) or g.array(name).tolist() for key, name in zip(("starts", "ends"), names, strict=False)
    )
    axes = given.get("axes") or (g.array(names[2]).tolist() if names[2] else list(range(len(begins))))
    steps = g.array(names[3]).tolist() if names[3] else [1] * len(axes)
    if min(steps) < 1:
        raise InexpressibleError("it steps backwards")
    shape = static(x.shape)
    chosen = [range(extent) for extent in shape]
    for axis, begin, end, step in zip(axes, begins, ends, steps, strict=True):
        chosen[axis] = chosen[axis][begin:end:step]
    if not all(chosen):
        raise InexpressibleError("nothing is left of the tensor")
    extents = tuple(map(len, chosen))
    return tensors.cut(g.builder, x, [c.start for c in chosen], extents, [c.step for c in chosen])


@rule("Concat")
def _concat(g: Graph, node: onnx.NodeProto, given: dict[str, Any]) -> Tensor:
    parts = [g.tensor(name) for name in node.input]
    return tensors.concatenate(g.builder, parts, given["axis"] % len(parts[0].shape))


@rule("Split")
def _split(g: Graph, node: onnx.NodeProto, given: dict[str, Any]) -> Tensor:
    x = g.tensor(node.input[0])
    axis, count = given.get("axis", 0) % len(x.shape), len(node.output)
    extent = static(x.shape)[axis]
    extents = given.get("split")
    if extents is None and len(node.input) > 1 and node.input[1]:
        extents = g.array(node.input[1]).tolist()
    if extents is None:
        each = -(-extent // count)
        extents = [min(each, extent - i * each) for i in range(count)]
    ends = np.cumsum(extents).tolist()
    parts = [tensors.part(g.builder, x, axis, end - e, end) for e, end in zip(extents, ends, strict=True)]
    g.tensors.update(zip(node.output[1:], parts[1:], strict=True))
    return parts[0]


@rule("Gather")
def _gather(g: Graph, node: onnx.NodeProto, given: dict[str, Any]) -> Tensor:
    x = g.tensor(node.input[0])
    axis, index = given.get("axis", 0) % len(x.shape), g.constants.get(node.input[1])
    if index is not None and index.ndim == 0:
        begin = int(index) % static(x.shape)[axis]
        one = tensors.part(g.builder, x, axis, begin, begin + 1)
        return tensors.view(g.builder, one, (*x.shape[:axis], *x.shape[axis + 1 :]))
    return tensors.gather(g.builder, x, g.tensor(node.input[1]), axis)


@rule("GatherND")
def _gather_nd(g: Graph, node: onnx.NodeProto, given: dict[str, Any]) -> Tensor:
    x, index = g.tensor(node.input[0]), g.array(node.input[1])
    if given.get("batch_dims", 0):
        raise InexpressibleError("its indices are of parts of a batch")
    depth = index.shape[-1]
    ahead, rest = static(x.shape)[:depth], x.shape[depth:]
    wrapped = np.where(index < 0, index + np.array(ahead), index)
    places = np.ravel_multi_index(tuple(np.moveaxis(wrapped, -1, 0)), ahead).astype(np.int64)
    rows = tensors.view(g.builder, x, (math.prod(ahead), *rest))
    place = tensors.fold(g.builder, tensors.literal(g.builder, places))
    return tensors.gather(g.builder, rows, place, 0)


# Comparisons


_COMPARISONS = {"Equal": "eq", "Less": "lt", "LessOrEqual": "le", "Greater": "gt", "GreaterOrEqual": "ge"}


@rule(*_COMPARISONS)
def _compare(g: Graph, node: onnx.NodeProto, _: dict[str, Any]) -> Tensor:
    parts, order = [g.part(name) for name in node.input], _COMPARISONS[node.op_type]
    dtype = next(part.value.dtype for part in parts if isinstance(part, Tensor))
    if dtype in TYPES:
        return tensors.apply(g.builder, f"arith.cmpf o{order},", parts, "bool", TYPES[dtype])
    order = order if order == "eq" else f"s{order}"
    return tensors.apply(g.builder, f"arith.cmpi {order},", parts, "bool", WHOLE_TYPES[dtype])


@rule("IsNaN")
def _is_nan(g: Graph, node: onnx.NodeProto, _: dict[str, Any]) -> Tensor:
    x = g.tensor(node.input[0])
    kind = TYPES[x.value.dtype]
    return tensors.pointwise(
        g.builder, [x], "bool", lambda e: ([f"%r = arith.cmpf uno, {e[0]}, {e[0]} : {kind}"], "%r")
    )


@rule("And", "Or", "Xor")
def _combine(g: Graph, node: onnx.NodeProto, _: dict[str, Any]) -> Tensor:
    parts = [g.tensor(name) for name in node.input]
    return tensors.apply(g.builder, f"arith.{node.op_type.lower()}i", parts, "bool", "i1")


@rule("Not")
def _not(g: Graph, node: onnx.NodeProto, _: dict[str, Any]) -> Tensor:
    x = g.tensor(node.input[0])
    lines = ["%true = arith.constant true"]
    return tensors.pointwise(g.builder, [x], "bool", lambda e: ([*lines, f"%r = arith.xori {e[0]}, %true : i1"], "%r"))


# Images


@rule("Conv")
def _conv(g: Graph, node: onnx.NodeProto, given: dict[str, Any]) -> Tensor:
    """Take patches that do not overlap, as those of a vision transformer, for rows of a linear layer."""
    b, x, (weight, kernel) = g.builder, g.tensor(node.input[0]), g.tensor(node.input[1])
    size = kernel[2:]
    is_of_patches = (
        given.get("group", 1) == 1
        and tuple(given.get("strides", (1,) * len(size))) == size
        and not any(given.get("pads", ()))
        and given.get("auto_pad", b"NOTSET") in (b"NOTSET", b"VALID")
        and (math.prod(size) == 1 or all(d == 1 for d in given.get("dilations", (1,))))
        and not any(extent % k for extent, k in zip(static(x.shape)[2:], size, strict=True))
    )
    if not is_of_patches:
        raise InexpressibleError("Tenon takes convolutions of patches that do not overlap, without padding")
    batch, channels, *image = x.shape
    grid = [extent // k for extent, k in zip(image, size, strict=True)]
    rank, split = len(size), [e for pair in zip(grid, size, strict=True) for e in pair]
    patches = tensors.transpose(
        b,
        tensors.view(b, x, (batch, channels, *split)),
        [0, *(2 + 2 * i for i in range(rank)), 1, *(3 + 2 * i for i in range(rank))],
    )
    rows = tensors.reshape(b, patches.value, (batch * math.prod(grid), channels * math.prod(size)))
    filters = tensors.reshape(b, weight, (kernel[0], math.prod(kernel[1:])))
    bias = g.tensor(node.input[2]).value if len(node.input) > 2 and node.input[2] else None
    y = b.linear(Factor(rows), Factor(filters), bias)
    return tensors.transpose(
        b, tensors.fold(b, tensors.reshape(b, y, (batch, *grid, kernel[0]))), [0, rank + 1, *range(1, rank + 1)]
    )
