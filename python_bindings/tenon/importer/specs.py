# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a function takes and gives."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple


class InputDim(NamedTuple):
    """An extent of a result: dimension `dim` of input number `input`."""

    input: int
    dim: int


class InputRows(NamedTuple):
    """An extent of a result: the product of all dimensions of an input but the last."""

    input: int


Dim = int | InputDim | InputRows


@dataclasses.dataclass(frozen=True)
class InputSpec:
    """An argument of an MLIR function.

    Attributes:
        dtype: of builder.TYPES.
        shape: the argument's shape, of rank 0, 1 or 2; None stands for dynamic rows. The
            tensor that is passed has the same elements in the same order, and may have
            more dimensions.
        parameter: whether it changes rarely (`tenon.param`).
        transpose: whether the tensor's transpose, made contiguous, is passed in its place.

    """

    dtype: str
    shape: tuple[int | None, ...]
    parameter: bool
    transpose: bool = False


@dataclasses.dataclass(frozen=True)
class OutputSpec:
    """A result of an MLIR function.

    Attributes:
        dtype: of builder.TYPES.
        shape: the shape of the tensor that the front end expects; its elements are the result's,
            in the same order.
        in_place: number of the input, a running statistic, whose memory the result takes.

    """

    dtype: str
    shape: tuple[Dim, ...]
    in_place: int | None = None


@dataclasses.dataclass
class FunctionSpec:
    """A function as a call needs to know it.

    Attributes:
        name: its name in `source`.
        source: MLIR text of a module with this function alone.
        inputs: its arguments.
        outputs: its results.

    """

    name: str
    source: str
    inputs: list[InputSpec]
    outputs: list[OutputSpec]
