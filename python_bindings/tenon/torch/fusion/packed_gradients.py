# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The backward pass of packed gated layers, whose products `columns.py` cuts before forward and backward are parted.

The gradients of the ranges of columns would be put side by side in memory, to be multiplied together. What multiplies
them, or sums them over the batch, does so with each: the products by the weight's rows are added, and of its gradient
and the bias' the parts are put together, which are small.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from torch import fx

from tenon.torch.choice.candidate import Product, product_of
from tenon.torch.fusion.columns import Columns, ranges_of
from tenon.torch.fusion.nodes import insert
from tenon.torch.fusion.ops import ELEMENTWISE
from tenon.torch.fusion.rows import sums_columns
from tenon.torch.fusion.views import arguments, is_permutation, op_name, view_source
from tenon.torch.fusion.words import backward_of

aten = torch.ops.aten


class Gradient(NamedTuple):
    """The gradients of a product's columns, side by side.

    Attributes:
        together: the node that puts them so.
        products: by the weight, which give x's gradient.
        turned: products of its transpose, which give the weight's.
        sums: over the batch, which give the bias'.

    """

    together: fx.Node
    products: list[fx.Node]
    turned: list[fx.Node]
    sums: list[fx.Node]


def find_gradient(product: fx.Node) -> Gradient | None:
    """Return the gradient of a product that is cut into ranges; None where it is none, or is taken in another way."""
    weight, widths = _lies_as(product.args[-1]), [columns.end - columns.begin for columns in ranges_of(product)]
    for node in product.graph.find_nodes(op="call_function", target=aten.cat.default):
        given = arguments(node)
        rank = node.meta["val"].dim()
        parts = given["tensors"]
        if given["dim"] % rank == rank - 1 and [p.meta["val"].shape[-1] for p in parts] == widths:
            found = Gradient(node, [], [], [])
            if _collect(node, weight[0], found) and (found.products or found.turned):
                return found
    return None


def split_gradient(gradient: Gradient, ranges: Sequence[Columns]) -> None:
    """Let what takes a gradient take the parts of it."""
    graph = gradient.together.graph
    parts = arguments(gradient.together)["tensors"]
    for use in (*gradient.products, *gradient.turned, *gradient.sums):
        place = functools.partial(insert, like=use)
        with graph.inserting_before(use):
            rows = [place(aten.reshape.default, part, [-1, part.meta["val"].shape[-1]]) for part in parts]
            if use in gradient.products:
                w = [place(aten.slice.Tensor, use.args[1], 0, columns.begin, columns.end) for columns in ranges]
                products = [place(aten.mm.default, *pair) for pair in zip(rows, w, strict=True)]
                new = functools.reduce(functools.partial(place, aten.add.Tensor), products)
            elif use in gradient.turned:
                turned = [place(aten.permute.default, part, [1, 0]) for part in rows]
                new = place(aten.cat.default, [place(aten.mm.default, part, use.args[1]) for part in turned])
            else:
                new = place(
                    aten.cat.default, [place(use.target, part, *use.args[1:], **use.kwargs) for part in rows], -1
                )
        use.replace_all_uses_with(new)
        graph.erase_node(use)
    for node in [*_behind(gradient.together)][::-1]:
        graph.erase_node(node)
    graph.erase_node(gradient.together)


def products_of(gradient: Gradient, ranges: Sequence[Columns]) -> tuple[list[Product], list[Product], list[Product]]:
    """Return the products that take a gradient as it is, those that take its parts, and which of these are added."""
    whole, parts, added = [], [], []
    widths = [columns.end - columns.begin for columns in ranges]
    for use in gradient.products:
        whole.append(product_of(use))
        parts += [dataclasses.replace(whole[-1], k=width) for width in widths]
        added += parts[1 - len(widths) :]
    for use in gradient.turned:
        whole.append(product_of(use))
        parts += [dataclasses.replace(whole[-1], m=width) for width in widths]
    return whole, parts, added


def forward_of(module: fx.GraphModule, graph: fx.Graph) -> fx.GraphModule:
    """Return the forward part of a graph of forward and backward, which gives what the partitioner would save.

    Which that is, is taken to be what no elementwise op gives, and what ops of the backward part read that are none.
    """
    behind = backward_of(graph)
    (output,) = graph.find_nodes(op="output")
    outputs = [node for node in output.all_input_nodes if node not in behind]
    for node in graph.nodes:
        if node.op == "call_function" and node not in behind and _is_saved(node, behind):
            outputs.append(node)
    output.args = (tuple(dict.fromkeys(outputs)),)
    for node in [n for n in reversed(graph.nodes) if n in behind]:
        graph.erase_node(node)
    return fx.GraphModule(module, graph)


def _is_saved(node: fx.Node, behind: set[fx.Node]) -> bool:
    takers = [user for user in node.users if user in behind]
    is_tensor = isinstance(node.meta.get("val"), torch.Tensor)
    return is_tensor and any(op_name(node) not in ELEMENTWISE or op_name(user) not in ELEMENTWISE for user in takers)


def _lies_as(matrix: fx.Node) -> tuple[fx.Node, bool]:
    """Return the matrix that is transposed any number of times, and whether an odd one."""
    is_turned = False
    while is_permutation(matrix) and matrix.meta["val"].dim() == 2 and view_source(matrix) is None:
        matrix, is_turned = matrix.args[0], not is_turned
    return matrix, is_turned


def _collect(node: fx.Node, weight: fx.Node, found: Gradient) -> bool:
    """Add what takes a gradient through views; tell whether that is all that does."""
    for user in node.users:
        is_matrix = node.meta["val"].dim() == 2
        if view_source(user) is node and user.meta["val"].shape[-1] == node.meta["val"].shape[-1]:
            if not _collect(user, weight, found):
                return False
        elif (
            is_matrix
            and op_name(user) == "aten.mm"
            and user.args[0] is node
            and _lies_as(user.args[1]) == (weight, False)
        ):
            found.products.append(user)
        elif is_matrix and _lies_as(user) == (node, True) and all(_multiplies(user, taker) for taker in user.users):
            found.turned.extend(user.users)
        elif is_matrix and sums_columns(user):
            found.sums.append(user)
        else:
            return False
    return True


def _multiplies(matrix: fx.Node, taker: fx.Node) -> bool:
    return op_name(taker) == "aten.mm" and taker.args[0] is matrix and taker.args[1] is not matrix


def _behind(node: fx.Node) -> Iterator[fx.Node]:
    """Give what is made of a node, each after what it is made of."""
    for user in node.users:
        yield user
        yield from _behind(user)
