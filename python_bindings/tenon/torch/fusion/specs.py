# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What became of a part of a graph."""

from __future__ import annotations

import dataclasses

from torch import fx

from tenon.importer.specs import FunctionSpec


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
