# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products that are scaled before they are added, as LoRA's: `y + (x @ w.T) * 2` is `y + x @ (w * 2).T`.

A kernel that adds up products then has nothing between them. In bfloat16 a power of two rounds nothing, as a weight's
range is float32's; where the weight is a parameter, it is scaled once a version of it.
"""

from __future__ import annotations

import functools
import math

import torch
from torch import fx

from tenon.torch.choice.candidate import hinted
from tenon.torch.fusion.nodes import insert
from tenon.torch.fusion.rewrite import sweep
from tenon.torch.fusion.views import dtype_of, is_transpose, op_name, view_source

aten = torch.ops.aten
_LARGEST = 2.0**16  # and one over it is the smallest
_LEAST_RATIO = 8  # elements of the product for one of the weight


def scale_weights(graph: fx.Graph) -> None:
    """Scale weights in the place of products, in place."""
    for node in graph.find_nodes(op="call_function", target=aten.mul.Tensor):
        product = _scaled_product(node)
        if product is not None:
            _scale(product, float(node.args[1]))
            node.replace_all_uses_with(node.args[0])
    sweep(graph, (), ())


def _scaled_product(node: fx.Node) -> fx.Node | None:
    """Return the product that a node scales so, and nothing else reads."""
    source, factor = node.args
    is_power = isinstance(factor, int | float) and factor > 0 and math.frexp(factor)[0] == 0.5
    if not is_power or not 1 / _LARGEST <= factor <= _LARGEST or dtype_of(node) != "bfloat16":
        return None
    if [op_name(user) for user in node.users] != ["aten.add"]:
        return None
    while source is not None and source.target is not aten.mm.default:
        source = view_source(source) if len(source.users) == 1 else None
    if source is None or len(source.users) != 1:
        return None
    elements, of_weight = (math.prod(hinted(n.meta["val"].shape)) for n in (source, source.args[1]))
    return source if elements >= _LEAST_RATIO * of_weight else None


def _scale(product: fx.Node, factor: float) -> None:
    x, w = product.args
    place = functools.partial(insert, like=product)
    with product.graph.inserting_before(product):
        if is_transpose(w):  # a parameter is scaled as it lies
            w = place(aten.permute.default, place(aten.mul.Tensor, w.args[0], factor), [1, 0])
        else:
            w = place(aten.mul.Tensor, w, factor)
        product.args = (x, w)
