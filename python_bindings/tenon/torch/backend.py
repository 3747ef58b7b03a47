# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`torch.compile(model, backend="tenon")`."""

from __future__ import annotations

import functools
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import fx

import tenon
from tenon.torch.calls.call import FusedCall
from tenon.torch.calls.graphs import replayed
from tenon.torch.calls.in_place import restore_in_place
from tenon.torch.capture import capture_inference, static_inputs
from tenon.torch.fusion.partition import partition
from tenon.torch.fusion.specs import Partition
from tenon.torch.options import Options


def tenon_backend(
    graph: fx.GraphModule,
    example_inputs: Sequence[Any],
    *,
    options: Options | Mapping[str, Any] | None = None,
    mode: str | None = None,
) -> Callable[..., Any]:
    """Compile a graph that Dynamo captured; what `backend="tenon"` names.

    Args:
        graph: the graph, in terms of torch's functions.
        example_inputs: tensors and sizes like those it will be called with.
        options: see `tenon.torch.Options`.
        mode: "reduce-overhead" to replay CUDA graphs; "default" or None.

    Raises:
        ValueError: an option or mode that is not known.
        tenon.CompileError: Tenon could not compile a part of the graph.

    """
    options = Options.of(options)
    if mode not in (None, "default", "reduce-overhead"):
        raise ValueError(f"tenon: mode {mode!r} is not known; choose 'default' or 'reduce-overhead'")
    if needs_gradient(example_inputs):
        warn_of_gradient()
        return graph.forward
    parameters = {i for i, t in enumerate(example_inputs) if isinstance(t, torch.nn.Parameter)}
    fused: list[FusedCall] = []

    def compiler(aten: fx.GraphModule, inputs: Sequence[Any]) -> Callable[..., Any]:
        # AOTAutograd leaves out inputs that are given twice; then none is known to be
        # a parameter, which costs time and no correctness.
        known = parameters if len(inputs) == len(example_inputs) else set()
        calls = compile_graph(aten, known, options)
        fused.extend(calls)
        replay = replayed(aten, inputs, static_inputs(), calls) if mode == "reduce-overhead" and calls else None
        return replay or aten.forward

    compiled = capture_inference(graph, example_inputs, compiler)
    if not fused:
        return graph.forward  # exactly as PyTorch runs it
    return compiled


def compile_graph(graph: fx.GraphModule, parameters: set[int], options: Options) -> list[FusedCall]:
    """Compile what Tenon can fuse of a functional ATen graph.

    Args:
        graph: the graph, rewritten in place; mutations of inputs are copies at its end.
        parameters: which of its inputs change rarely, and are told by their versions.
        options: how to compile.

    Returns:
        the calls that the graph now makes; none if there is nothing to fuse.

    """
    placeholders = graph.graph.find_nodes(op="placeholder")
    names = {node.name for i, node in enumerate(placeholders) if i in parameters}
    partitions = partition(graph, names, options.linear_precision())
    calls = [FusedCall(part, _compile_partition(part, options)) for part in partitions]
    for call in calls:
        call.partition.node.target = call
    restore_in_place(graph.graph)
    graph.recompile()
    if options.verbose:
        _print_report(calls, options)
    return calls


def _compile_partition(part: Partition, options: Options) -> tenon.Executable:
    device = next(arg.meta["val"].device for arg in part.node.args)
    return tenon.compile(
        part.source,
        options.targets_for(device),
        name=part.name,
        strategy=options.strategy,
        reduction=options.reduction,
    )


def _print_report(calls: Sequence[FusedCall], options: Options) -> None:
    from tenon.torch.explanation.explain import format_table

    print(format_table(calls, options), file=sys.stderr)


def needs_gradient(inputs: Sequence[Any]) -> bool:
    """Tell whether autograd would record a call with these inputs."""
    return torch.is_grad_enabled() and any(isinstance(t, torch.Tensor) and t.requires_grad for t in inputs)


@functools.cache
def warn_of_gradient() -> None:
    """Say once that gradients mean PyTorch's own path."""
    warnings.warn(gradient_warning("this model"), stacklevel=3)


def gradient_warning(model: str) -> str:
    """Return what is said of a model that PyTorch runs, as a gradient may be needed."""
    return (
        f"tenon: a gradient may be needed, so PyTorch runs {model} itself. Call it under torch.no_grad() or "
        "torch.inference_mode(), or requires_grad_(False), to have it compiled."
    )
