# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`torch.compile(model, backend="tenon")`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import fx

from tenon.torch.attention import keep_attention_fused
from tenon.torch.calls.call import FusedCall
from tenon.torch.calls.function import function_of
from tenon.torch.calls.graphs import replayed
from tenon.torch.calls.in_place import restore_in_place
from tenon.torch.capture import capture_inference, static_inputs
from tenon.torch.choice.judge import Judge
from tenon.torch.explanation.verbose import print_report
from tenon.torch.failures import failed, strictness
from tenon.torch.fusion.partition import partition
from tenon.torch.options import Options

_MODES = ("default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs", "lite")


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
        mode: one of torch.compile's, such as "reduce-overhead" to replay CUDA graphs.

    Raises:
        ValueError: an option or mode that is not known.
        Exception: Tenon failed on a part of the graph, and options or TENON_STRICT=1 say that it shall raise.

    """
    options = Options.of(options)
    if mode is not None and mode not in _MODES:
        raise ValueError(f"tenon: mode {mode!r} is not known; choose one of {', '.join(map(repr, _MODES))}")
    with strictness(options.strict):
        try:
            keep_attention_fused(graph)
        except Exception as error:
            failed("masks of attention", error)
        device = device_of((*example_inputs, *graph.parameters(), *graph.buffers()))
        options = options.fitting(device)
        if options.rest_for(device) == "inductor":
            from tenon.torch.inductor.host import compile_with_inductor  # with Inductor, that takes seconds

            return compile_with_inductor(graph, example_inputs, options, mode)
        return _compile_for_eager(graph, example_inputs, options, mode)


def reset() -> None:
    """Forget the CUDA graphs that were captured; `torch._dynamo.reset()` calls this."""
    trees = sys.modules.get("torch._inductor.cudagraph_trees")
    if trees:
        trees.reset_cudagraph_trees()


tenon_backend.reset = reset


def _compile_for_eager(
    graph: fx.GraphModule, example_inputs: Sequence[Any], options: Options, mode: str | None
) -> Callable[..., Any]:
    """Compile a graph of which PyTorch runs the rest op by op; a training step is all PyTorch's."""
    if needs_gradient(example_inputs):
        return function_of(graph)
    parameters = {i for i, t in enumerate(example_inputs) if isinstance(t, torch.nn.Parameter)}
    fused: list[FusedCall] = []

    def compiler(aten: fx.GraphModule, inputs: Sequence[Any]) -> Callable[..., Any]:
        # AOTAutograd leaves out inputs that are given twice; then none is known to be
        # a parameter, which costs time and no correctness.
        known = parameters if len(inputs) == len(example_inputs) else set()
        calls = compile_graph(aten, known, options)
        fused.extend(calls)
        has_graphs = mode in ("reduce-overhead", "max-autotune")
        replay = replayed(aten, inputs, static_inputs(), calls) if has_graphs and calls else None
        return replay or function_of(aten)

    try:
        compiled = capture_inference(graph, example_inputs, compiler)
    except Exception as error:
        failed("a graph", error)
        return function_of(graph)
    if not fused:
        return function_of(graph)  # exactly as PyTorch runs it
    return compiled


def compile_graph(graph: fx.GraphModule, parameters: set[int], options: Options) -> list[FusedCall]:
    """Compile what Tenon can fuse of a functional ATen graph, and is worth a call.

    Args:
        graph: the graph, rewritten in place; mutations of inputs are copies at its end.
        parameters: which of its inputs change rarely, and are told by their versions.
        options: how to compile.

    Returns:
        the calls that the graph now makes; none if there is nothing to fuse. The function of each is a Partition.

    """
    placeholders = graph.graph.find_nodes(op="placeholder")
    names = {node.name for i, node in enumerate(placeholders) if i in parameters}
    device = device_of([node.meta.get("val") for node in placeholders])
    options = options.fitting(device)
    judge = Judge(options)
    for_inductor = judge.measures(device)
    calls = []
    given = options.of_partition()
    for part in partition(graph, names, options.linear_precision(), judge, for_inductor, **given):
        call, _ = judge.call_of(part)
        part.node.target = call
        calls.append(call)
    restore_in_place(graph.graph)
    graph.recompile()
    print_report(calls, options)
    return calls


def device_of(values: Sequence[Any]) -> torch.device:
    """Return the device that tensors among some values are on: a GPU, if any of them is on one."""
    devices = (t.device for t in values if isinstance(t, torch.Tensor))
    return next((d for d in devices if d.type != "cpu"), torch.device("cpu"))


def needs_gradient(inputs: Sequence[Any]) -> bool:
    """Tell whether autograd would record a call with these inputs."""
    return torch.is_grad_enabled() and any(isinstance(t, torch.Tensor) and t.requires_grad for t in inputs)
