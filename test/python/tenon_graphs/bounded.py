# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors in float64 with a bound on any right result's error, and large ones in blocks of rows."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

# Elements of a block: what is made of it on the way stays in a processor's cache.
BLOCK = 1 << 15


@dataclass
class Bounded:
    """A tensor in float64, and how far from it a right result may be."""

    value: np.ndarray
    error: np.ndarray

    def __post_init__(self) -> None:
        self.error = np.broadcast_to(self.error, self.value.shape)


def blocks_of_rows(shape: tuple[int, ...]) -> list[slice]:
    """Return slices of the rows of a matrix."""
    step = max(1, BLOCK // max(1, math.prod(shape[1:])))
    return [slice(first, first + step) for first in range(0, shape[0], step)]


def by_rows(function: Callable[..., Bounded], *operands: Bounded | None) -> Bounded:
    """Call a function that computes each row from the operands' same row; of a large matrix by blocks, some at a time.

    Operands may be of one row for all, or None. The bits are those that one call for all rows gives.
    """
    shape = np.broadcast_shapes(*(operand.value.shape for operand in operands if operand))
    if len(shape) != 2 or math.prod(shape) <= BLOCK:
        return function(*operands)
    values, errors, handling = np.empty(shape), np.empty(shape), np.geterr()

    def part(operand: Bounded | None, block: slice) -> Bounded | None:
        if operand is None or operand.value.ndim != 2 or operand.value.shape[0] != shape[0]:
            return operand
        return Bounded(operand.value[block], operand.error[block])

    def compute(block: slice) -> None:
        with np.errstate(**handling):  # which is a thread's own
            result = function(*(part(operand, block) for operand in operands))
        values[block], errors[block] = result.value, result.error

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(compute, blocks_of_rows(shape)))
    return Bounded(values, errors)
