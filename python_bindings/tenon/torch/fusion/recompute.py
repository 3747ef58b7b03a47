# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a backward pass computes again of what is saved anyway, so that forward saves and backward reads less.

PyTorch's partitioner saves what an op that it cannot fuse reads, and batch norm's backward pass stays whole for Tenon.
Nodes of its own, which forward does not need, it leaves to backward, as long as no equal ones are there to merge with.
"""

from __future__ import annotations

import operator

import torch
from torch import fx

from tenon.torch.fusion.nodes import insert
from tenon.torch.fusion.norm_gradients import NORM_GRADIENT, scaled_source
from tenon.torch.fusion.views import arguments, op_name
from tenon.torch.fusion.words import backward_of

aten = torch.ops.aten
_NORM = aten._native_batch_norm_legit_functional.default
_WIDE = (torch.float32, torch.float64)


def may_recompute(graph: fx.Graph) -> bool:
    """Tell whether a graph has what `recompute` is for, the gradients of batch norms."""
    return bool(graph.find_nodes(op="call_function", target=NORM_GRADIENT) and backward_of(graph))


def recompute(graph: fx.Graph) -> None:
    """Rewrite a graph of forward and backward in place."""
    backward = backward_of(graph)
    for node in graph.find_nodes(op="call_function", target=NORM_GRADIENT):
        _scale_again(node, backward)
    for node in graph.find_nodes(op="call_function", target=_NORM):
        if arguments(node)["training"] and node.args[0].meta["val"].dim() == 2:
            _normalise_again(node, backward)


def _scale_again(gradient: fx.Node, backward: set[fx.Node]) -> None:
    """Have a norm's gradient scale features again, where what is scaled is saved for the gradient of the scale."""
    scaled = gradient.args[1]
    source = scaled_source(scaled)
    if source is None or backward.isdisjoint(source.node.users):
        return
    with gradient.graph.inserting_after(scaled):
        # In the other order, or it would be merged with the one of forward.
        again = insert(scaled.target, *reversed(scaled.args))
    gradient.replace_input_with(scaled, again)


def _normalise_again(norm: fx.Node, backward: set[fx.Node]) -> None:
    """Have derivatives of activations behind a batch norm read what the norm's own gradient does."""
    results = {user.args[1]: user for user in norm.users if user.target is operator.getitem}
    if not {0, 1, 2} <= results.keys() or results[1].meta["val"].dtype not in _WIDE:
        return
    output = results[0]
    readers = [(user, output) for user in output.users if user in backward]
    for relu in output.users:
        if op_name(relu) == "aten.relu":
            readers += [(user, relu) for user in relu.users if _gates(user, relu)]
    gradients = [user for user in results[2].users if user.target is NORM_GRADIENT]
    if not readers or not gradients:
        return
    order = {node: i for i, node in enumerate(norm.graph.nodes)}
    with norm.graph.inserting_before(min((user for user, _ in readers), key=order.__getitem__)):
        again = _normalised(norm, results, gradients[0].args[1])
    for user, read in readers:
        user.replace_input_with(read, again)


def _gates(node: fx.Node, relu: fx.Node) -> bool:
    """Tell whether a node passes a gradient on where a relu's result, and so its operand, is above 0."""
    if node.target is not aten.threshold_backward.default:
        return False
    given = arguments(node)
    return given["self"] is relu and given["grad_output"] is not relu and given["threshold"] == 0


def _normalised(norm: fx.Node, results: dict[int, fx.Node], x: fx.Node) -> fx.Node:
    """Insert what gives a norm's result again, of what its gradient takes as its input."""
    given = arguments(norm)
    mean, inverse_deviation = results[1], results[2]
    value = insert(aten.sub.Tensor, _cast(x, mean.meta["val"].dtype), mean)
    value = insert(aten.mul.Tensor, value, inverse_deviation)
    # Of whatever type these are: only matrices are converted, which costs a kernel of a layer nothing.
    if given["weight"] is not None:
        value = insert(aten.mul.Tensor, value, given["weight"])
    if given["bias"] is not None:
        value = insert(aten.add.Tensor, value, given["bias"])
    return _cast(value, results[0].meta["val"].dtype)


def _cast(node: fx.Node, dtype: torch.dtype) -> fx.Node:
    if node.meta["val"].dtype == dtype:
        return node
    return insert(torch.ops.prims.convert_element_type.default, node, dtype)
