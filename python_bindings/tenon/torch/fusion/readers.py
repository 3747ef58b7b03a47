# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Who reads a value: what Inductor fuses with whatever comes before it, or what it fuses nothing into."""

from __future__ import annotations

import operator
import re
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from torch import fx

from tenon.torch.fusion.ops import LINEAR
from tenon.torch.fusion.views import is_permutation, op_name, view_source

# Inductor calls a library for these.
_LIBRARY_CALL = re.compile(
    r"aten\.(linear|matmul|mm|addmm|bmm|baddbmm|convolution|_scaled_mm(_v2)?|_?(scaled_dot_product|flash_attention|efficient_attention)\w*)$"
)


def is_library_call(node: fx.Node) -> bool:
    """Tell whether Inductor calls a library for a node."""
    return bool(_LIBRARY_CALL.match(op_name(node)))


class Readers(NamedTuple):
    """Who reads a value.

    Attributes:
        opaque: whether it leaves the graph, or is multiplied by a library's call or by one of Tenon's.
        epilogue: whether a call of Tenon's reads it behind its product.
        kernel: whether a kernel of Inductor's reads it, which could compute it as well.

    """

    opaque: bool
    epilogue: bool
    kernel: bool


def find_readers(node: fx.Node, takers: Mapping[fx.Node, Sequence[fx.Node]], in_calls: Collection[fx.Node]) -> Readers:
    """Return who reads a node's value, through views, transposes among them.

    Args:
        node: what is read.
        takers: the nodes that take each node's value.
        in_calls: the nodes that calls of Tenon's stand for.

    """
    opaque = epilogue = kernel = False
    for taker in takers.get(node, ()):
        if taker in in_calls and op_name(taker) not in LINEAR:
            epilogue = True
        elif taker in in_calls or taker.op == "output" or is_library_call(taker):
            opaque = True
        elif view_source(taker) is node or is_permutation(taker):
            found = find_readers(taker, takers, in_calls)
            opaque, epilogue, kernel = opaque or found.opaque, epilogue or found.epilogue, kernel or found.kernel
        else:
            kernel = True
    return Readers(opaque, epilogue, kernel)


def leaves_graph(node: fx.Node) -> bool:
    """Tell whether a view of a node is a result of the graph, whose strides PyTorch expects to be that view's.

    What takes elements by strides of its own expects the same.
    """
    for user in node.users:
        # One of several views, such as a split gives, is an item.
        is_view = user.target is operator.getitem or (bool(op_name(user)) and user.target.is_view)
        if user.op == "output" or op_name(user) == "aten.as_strided" or (is_view and leaves_graph(user)):
            return True
    return False
