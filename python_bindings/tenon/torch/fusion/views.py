# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Nodes that compute nothing: views, copies, casts to the same dtype, dropout that is off."""

from __future__ import annotations

from typing import Any

import torch
from torch import fx
from torch._subclasses.fake_tensor import unset_fake_temporarily
from torch.utils._pytree import tree_leaves

from tenon.importer.builder import TYPES
from tenon.importer.shapes import as_matrix, flatten
from tenon.torch.fusion.shapes import torch_shape

_RESHAPES = {"view", "reshape", "_unsafe_view", "unsqueeze", "squeeze", "flatten", "unflatten", "_reshape_alias"}
_COPIES = {"clone", "alias", "detach", "contiguous", "lift", "lift_fresh", "lift_fresh_copy", "positive"}
_PERMUTATIONS = {"t", "transpose", "permute", "mT", "numpy_T", "swapaxes", "swapdims", "movedim"}
_CASTS = {"_to_copy", "convert_element_type", "to"}
# Of a node: whether it stands for a graph's input as that lies in memory (layouts.py).
LIES_BY_ROWS = "tenon_lies_by_rows"


def op_name(node: fx.Node) -> str:
    """Return an op's name without overload, such as "aten.add"; "" if it is none of PyTorch's ops."""
    target = node.target
    if node.op != "call_function" or not isinstance(target, torch._ops.OpOverload):
        return ""
    return f"{target.namespace}.{target._opname}"


def base_name(node: fx.Node) -> str:
    """Return an op's name without namespace and without "_copy", which functionalization adds to views."""
    name = op_name(node).partition(".")[2]
    is_copy_of_view = name.endswith("_copy") and name not in _CASTS and name not in _COPIES
    return name.removesuffix("_copy") if is_copy_of_view else name


def arguments(node: fx.Node) -> dict[str, Any]:
    """Return all arguments of an op by name, in the order of its schema, defaults included."""
    schema = node.target._schema.arguments
    given = dict(zip((a.name for a in schema), node.args, strict=False)) | dict(node.kwargs)
    return {a.name: given.get(a.name, a.default_value) for a in schema}


def dtype_name(dtype: torch.dtype) -> str:
    """Return a dtype as the importer names it."""
    return str(dtype).removeprefix("torch.")


def dtype_of(node: fx.Node) -> str | None:
    """Return the dtype of a node's tensor, such as "float32"; None if it gives no tensor."""
    value = node.meta.get("val")
    return dtype_name(value.dtype) if isinstance(value, torch.Tensor) else None


def cast_source(node: fx.Node) -> fx.Node | None:
    """Return what a node converts to another dtype of Tenon's, if it does nothing else."""
    if base_name(node) not in _CASTS or not _same_place(node):
        return None
    source = node.args[0]
    known = dtype_of(node) in TYPES and dtype_of(source) in TYPES
    return source if known and dtype_of(node) != dtype_of(source) else None


def view_source(node: fx.Node) -> fx.Node | None:
    """Return what a node gives again: the same elements in the same row-major order, in any shape."""
    name = base_name(node)
    if not name:
        return _dropout_source(node)
    if name in _RESHAPES or name in _COPIES:
        return node.args[0] if _same_place(node) else None
    if name in _CASTS:
        same = _same_place(node) and dtype_of(node) == dtype_of(node.args[0])
        return node.args[0] if same else None
    if name == "expand" and torch_shape(node) == torch_shape(node.args[0]):
        return node.args[0]
    if name in _PERMUTATIONS and _keeps_order(node):
        return node.args[0]
    return _dropout_source(node)


def is_permutation(node: fx.Node) -> bool:
    """Tell whether a node gives dimensions in another order, which moves nothing in memory."""
    return base_name(node) in _PERMUTATIONS


def is_transpose(node: fx.Node) -> bool:
    """Tell whether a node is the transpose of a matrix."""
    return is_permutation(node) and _permutation(node) == [1, 0]


def is_turned(matrix: fx.Node) -> bool:
    """Tell whether a matrix is one transposed, which twice is not."""
    return is_transpose(matrix) and not is_turned(matrix.args[0])


def strip(node: fx.Node) -> fx.Node:
    """Return the earliest node with the same elements and, for Tenon, the same shape."""
    shape = torch_shape(node)
    if shape is None:
        return node
    wanted, found, source = as_matrix(flatten(shape)), node, view_source(node)
    while isinstance(source, fx.Node) and torch_shape(source) is not None:
        if as_matrix(flatten(torch_shape(source))) == wanted:
            found = source
        source = view_source(source)
    return found


def is_view(node: fx.Node) -> bool:
    """Tell whether strip() passes a node."""
    return strip(node) is not node


def _same_place(node: fx.Node) -> bool:
    value, source = node.meta.get("val"), getattr(node.args[0], "meta", {}).get("val")
    both = isinstance(value, torch.Tensor) and isinstance(source, torch.Tensor)
    return both and value.device == source.device and value.layout == source.layout


def _keeps_order(node: fx.Node) -> bool:
    """Tell whether a permutation moves dimensions of extent 1 only."""
    order = _permutation(node)
    shape = torch_shape(node.args[0])
    moved = [d for d in order if shape[d] != 1] if order else None
    return moved is not None and moved == sorted(moved)


def _permutation(node: fx.Node) -> list[int] | None:
    rank = len(torch_shape(node.args[0]))
    # Strides that are the dimensions' numbers tell the order.
    with unset_fake_temporarily():  # a fake mode takes ten times as long
        permuted = replay(node, torch.empty_strided([1] * rank, list(range(rank)), device="meta"))
    return list(permuted.stride()) if permuted is not None else None


def replay(node: fx.Node, tensor: torch.Tensor) -> torch.Tensor | None:
    """Apply a view to another tensor; None where that is not a view of static shape."""
    name = base_name(node)
    if name not in _RESHAPES | _PERMUTATIONS | {"expand"}:
        return tensor if view_source(node) is not None else None
    rest = {k: v for k, v in arguments(node).items() if k not in ("self", "implicit", "memory_format")}
    if any(isinstance(a, fx.Node) for a in tree_leaves(rest)):
        return None
    if name in ("view", "reshape", "_unsafe_view"):
        name = "view"  # fails where a copy would be needed
    try:
        return getattr(tensor, name)(*rest.values())
    except Exception:  # of which type is PyTorch's to choose, and differs from version to version
        return None


def _dropout_source(node: fx.Node) -> fx.Node | None:
    """Return what a dropout that is off, or its first result, passes on."""
    if getattr(node.target, "__name__", "") == "getitem" and node.args[1] == 0 and isinstance(node.args[0], fx.Node):
        parent = node.args[0]
        if op_name(parent) == "aten.native_dropout" and _is_off(parent):
            return parent.args[0]
        return None
    if op_name(node) in ("aten.dropout", "aten.feature_dropout", "aten.alpha_dropout") and _is_off(node):
        return node.args[0]
    return None


def _is_off(node: fx.Node) -> bool:
    given = arguments(node)
    return given.get("train") is False or given.get("p") == 0
