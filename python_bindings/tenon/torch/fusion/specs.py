# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a partition of a graph takes and gives."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import torch
from torch import fx


class InputDim(NamedTuple):
    """An extent of a result: dimension `dim` of input number `input`."""

    input: int
    dim: int


class InputRows(NamedTuple):
    """An extent of a result: the product of all dimensions of an input but the last."""

    input: int


Dim = int | InputDim | InputRows


@dataclasses.dataclass(frozen=True)
class TensorSpec:
    """An argument of a partition's MLIR function.

    Attributes:
        dtype: float32, float16, bfloat16 or float64.
        shape: the argument's shape, of rank 0, 1 or 2; None stands for dynamic rows. The
            tensor that is passed has the same elements in the same order, and may have
            more dimensions.
        parameter: whether it changes rarely (`tenon.param`).
        transpose: whether `tensor.t().contiguous()` is passed in the tensor's place.

    """

    dtype: torch.dtype
    shape: tuple[int | None, ...]
    parameter: bool
    transpose: bool = False


@dataclasses.dataclass(frozen=True)
class OutputSpec:
    """A result of a partition's MLIR function.

    Attributes:
        dtype: float32, float16, bfloat16 or float64.
        shape: the shape of the tensor that PyTorch expects; its elements are the result's,
            in the same order.
        in_place: number of the input, a running statistic, whose memory the result takes.

    """

    dtype: torch.dtype
    shape: tuple[Dim, ...]
    in_place: int | None = None


@dataclasses.dataclass(frozen=True)
class Missed:
    """A linear layer, or an op behind one, that stays with PyTorch.

    Attributes:
        node: name of the node in the graph.
        op: the op, such as "aten.exp".
        reason: a sentence.
        where: "file:line" of the user's code, if that is known.

    """

    node: str
    op: str
    reason: str
    where: str | None


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
    inputs: list[TensorSpec]
    outputs: list[OutputSpec]


@dataclasses.dataclass
class Partition(FunctionSpec):
    """Some nodes of a graph that became one call.

    Attributes:
        node: the call, in the rewritten graph. Its target is a placeholder; its arguments are the function's.
        missed: what stayed with PyTorch behind this partition's linear layers.
        origins: the node that each op of the function was made from, in their order.

    """

    node: fx.Node
    missed: list[Missed]
    origins: list[str]
