# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shapes of a graph's tensors."""

from __future__ import annotations

import torch
from torch import fx

from tenon.importer.shapes import Extent, Shape, product


def extent(size: int | torch.SymInt) -> Extent:
    """Return a dimension as a number where it is one."""
    if isinstance(size, int):
        return size
    expression = size.node.expr
    return int(expression) if expression.is_Integer else expression


def torch_shape(node: fx.Node) -> Shape | None:
    """Return the shape of a node's tensor; None if it gives no tensor."""
    value = node.meta.get("val")
    return tuple(extent(d) for d in value.shape) if isinstance(value, torch.Tensor) else None


def is_row_major(tensor: torch.Tensor) -> bool:
    """Tell whether a tensor is contiguous, without a guard on dynamic extents."""
    expected: Extent = 1
    for size, stride in reversed(list(zip(tensor.shape, tensor.stride(), strict=True))):
        if extent(size) != 1 and extent(stride) != expected:
            return False
        expected = product([expected, extent(size)])
    return True
