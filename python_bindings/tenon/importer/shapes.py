# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shapes as Tenon has them: at most two dimensions, of which only the rows may be dynamic."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tenon.importer.specs import Dim, InputDim, InputRows

# Number, or an expression of sympy's in the symbols of the model's dynamic extents.
Extent = Any
Shape = tuple[Extent, ...]


def flatten(shape: Shape) -> Shape:
    """Return Tenon's shape of a tensor: all dimensions but the last become rows."""
    return shape if len(shape) < 3 else (product(shape[:-1]), shape[-1])


def rows_of(shape: Shape) -> Extent:
    """Return the number of rows of a tensor; a vector or a number is one row."""
    return product(shape[:-1])


def product(extents: Sequence[Extent]) -> Extent:
    """Return the product of extents."""
    result = math.prod(extents)
    return int(result) if not isinstance(result, int) and result.is_Integer else result


def as_matrix(shape: Shape) -> Shape:
    """Return a shape of at most two dimensions with leading ones, to compare it."""
    return (1,) * (2 - len(shape)) + tuple(shape)


def broadcast(a: Shape, b: Shape) -> Shape | None:
    """Return the shape of a binary op's result, or None if Tenon cannot broadcast so."""
    rank = max(len(a), len(b))
    a, b = (1,) * (rank - len(a)) + a, (1,) * (rank - len(b)) + b
    if any(x != y and 1 not in (x, y) for x, y in zip(a, b, strict=True)):
        return None
    return tuple(y if x == 1 else x for x, y in zip(a, b, strict=True))


def is_expressible(shape: Shape) -> bool:
    """Tell whether a tensor type of Tenon's can have this shape."""
    rows_free = shape[1:] if len(shape) == 2 else shape
    return all(isinstance(d, int) for d in rows_free) and 0 not in shape and len(shape) <= 2


def output_dims(shape: Shape, inputs: Sequence[Shape]) -> tuple[Dim, ...] | None:
    """Return a result's dimensions in terms of the shapes of inputs, or None if that cannot be."""
    found: dict[Extent, Dim] = {}
    for i, other in enumerate(inputs):
        for d, size in enumerate(other):
            found.setdefault(size, InputDim(i, d))
    for i, other in enumerate(inputs):
        found.setdefault(rows_of(other), InputRows(i))
    dims = [d if isinstance(d, int) else found.get(d) for d in shape]
    return None if None in dims else tuple(dims)
