# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`mode="reduce-overhead"`: captures a graph's call as a CUDA graph and replays it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

import torch
from torch import fx

from tenon.torch.calls.call import FusedCall

aten = torch.ops.aten


def replayed(
    graph: fx.GraphModule, inputs: Sequence[Any], static: Collection[int], fused: Sequence[FusedCall]
) -> Callable[..., Any] | None:
    """Return a function that runs `graph` through PyTorch's CUDA graph trees.

    As with PyTorch's own `mode="reduce-overhead"`, a later call overwrites a result.

    Args:
        graph: the compiled graph.
        inputs: fake tensors and sizes.
        static: the inputs that keep their addresses, such as parameters and buffers.
        fused: the calls in the graph, whose parameters are prepared outside of the replay.

    Returns:
        None where CUDA graphs do not apply: inputs on the CPU, or dynamic extents.

    """
    from torch._inductor.cudagraph_trees import cudagraphify_impl

    devices = {t.device if isinstance(t, torch.Tensor) else None for t in inputs}
    device = devices.pop() if len(devices) == 1 else None
    if device is None or device.type != "cuda":
        return None

    def run(args: list[Any]) -> Sequence[Any]:
        flat = list(args)
        args.clear()
        return graph.forward(*flat)

    numbers = {node: i for i, node in enumerate(graph.graph.find_nodes(op="placeholder"))}
    replay = cudagraphify_impl(
        run,
        list(inputs),
        sorted(static),
        device_index=device.index,
        is_backward=False,
        is_inference=True,
        stack_traces=[None] * len(graph.graph.output_node().args[0]),
        mutated_input_idxs=sorted(_written(numbers, fused, graph.graph)),
    )
    sources = [[numbers.get(arg) for arg in call.function.node.args] for call in fused]

    def call(*flat: Any) -> Any:
        for fused_call, positions in zip(fused, sources, strict=True):
            fused_call.prepare([None if i is None else flat[i] for i in positions])
        return replay(list(flat))

    return call


def _written(numbers: dict[fx.Node, int], fused: Sequence[FusedCall], graph: fx.Graph) -> set[int]:
    """Return the inputs of the graph that it writes to."""
    written = set()
    for node in graph.nodes:
        if isinstance(node.target, torch._ops.OpOverload) and node.target._schema.is_mutable:
            written.add(numbers.get(node.args[0]))
    for call in fused:
        targets = [o.in_place for o in call.function.outputs if o.in_place is not None]
        written |= {numbers.get(call.function.node.args[i]) for i in targets}
    return written - {None}
