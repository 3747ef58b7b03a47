# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Turns the calls of a cut graph into ops, with memory for their results."""

from __future__ import annotations

import functools
import operator

import torch
from torch import fx

from tenon.importer.specs import Dim, InputDim, OutputSpec
from tenon.torch.calls.op import fused
from tenon.torch.fusion.shapes import is_row_major
from tenon.torch.fusion.specs import Partition

aten = torch.ops.aten


def insert_op(graph: fx.Graph, part: Partition, text: str) -> None:
    """Put the op in the place of a partition's call.

    Args:
        graph: the graph that was cut.
        part: what was cut out; its node is erased.
        text: what the op is to run, as `tenon.torch.calls.op.register` gives it.

    """
    call = part.node
    results = {user.args[1]: user for user in call.users}
    with graph.inserting_before(call):
        inputs = [
            argument if spec.parameter or is_row_major(argument.meta["val"]) else _contiguous(graph, argument)
            for argument, spec in zip(call.args, part.inputs, strict=True)
        ]
        outputs = []
        for i, spec in enumerate(part.outputs):
            if spec.in_place is not None:
                outputs.append(call.args[spec.in_place])
            else:
                outputs.append(_empty(graph, call, spec, call.meta["val"][i]))
        run = graph.call_function(fused, (text, inputs, outputs))
    fakes = [[node.meta["val"] for node in nodes] for nodes in (inputs, outputs)]
    # Without these Inductor lays out what an op takes as it likes.
    run.meta = {"val": None, "eager_input_vals": ((text, *fakes), {})}
    for i, node in results.items():
        outputs[i].meta = {**node.meta, "val": outputs[i].meta["val"]}
        node.replace_all_uses_with(outputs[i])
        graph.erase_node(node)
    graph.erase_node(call)


def _contiguous(graph: fx.Graph, argument: fx.Node) -> fx.Node:
    node = graph.call_function(aten.clone.default, (argument,), {"memory_format": torch.contiguous_format})
    node.meta["val"] = argument.meta["val"].clone(memory_format=torch.contiguous_format)
    return node


def _empty(graph: fx.Graph, call: fx.Node, spec: OutputSpec, value: torch.Tensor) -> fx.Node:
    shape = [_extent(graph, call, dim) for dim in spec.shape]
    node = graph.call_function(
        aten.empty.memory_format,
        (shape,),
        {"dtype": value.dtype, "layout": torch.strided, "device": value.device, "pin_memory": False},
    )
    # Strides of extents of one may differ from the value's, and Inductor asks for all of them as they are said here.
    node.meta["val"] = value.new_empty(value.shape)
    return node


def _extent(graph: fx.Graph, call: fx.Node, dim: Dim) -> int | fx.Node:
    """Return an extent of a result; where it is dynamic, as a node that asks the call's input."""
    if isinstance(dim, int):
        return dim
    source = call.args[dim.input]
    rank = source.meta["val"].dim()
    extents = [_size(graph, source, d) for d in ([dim.dim] if isinstance(dim, InputDim) else range(rank - 1))]
    return functools.reduce(functools.partial(_multiply, graph), extents)


def _size(graph: fx.Graph, source: fx.Node, dim: int) -> int | fx.Node:
    size = source.meta["val"].shape[dim]
    if isinstance(size, int):
        return size
    node = graph.call_function(aten.sym_size.int, (source, dim))
    node.meta["val"] = size
    return node


def _multiply(graph: fx.Graph, a: int | fx.Node, b: int | fx.Node) -> int | fx.Node:
    if isinstance(a, int) and isinstance(b, int):
        return a * b
    node = graph.call_function(operator.mul, (a, b))
    values = [n.meta["val"] if isinstance(n, fx.Node) else n for n in (a, b)]
    node.meta["val"] = values[0] * values[1]
    return node
