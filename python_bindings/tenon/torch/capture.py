# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From a module to its graph of functional ATen ops, by PyTorch's AOTAutograd."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import fx

# Takes the graph and fake inputs, gives a function of the flat inputs.
Compiler = Callable[[fx.GraphModule, Sequence[Any]], Callable[..., Sequence[Any]]]


def capture_inference(module: torch.nn.Module, inputs: Sequence[Any], compiler: Compiler) -> Callable[..., Any]:
    """Compile a module without gradients.

    `compiler` sees a graph of ATen ops that change nothing in place: views stay views,
    autocast has become casts, and what the module writes to its inputs stands at the
    graph's end as `aten.copy_`.

    Args:
        module: takes flat inputs and has no parameters of its own, as Dynamo's graphs.
        inputs: tensors, real or fake, and sizes.
        compiler: what to do with the graph.

    Returns:
        a function of the same inputs as `module`, to be called without gradients.

    """
    # Imported where they are needed: with Dynamo, that takes seconds on some machines.
    from torch._decomp import get_decompositions
    from torch._dynamo.backends.common import aot_autograd
    from torch._functorch.aot_autograd import make_boxed_func

    def boxed(graph: fx.GraphModule, fakes: Sequence[Any]) -> Callable[..., Any]:
        return make_boxed_func(compiler(graph, fakes))

    # A loss is a gather of rows, which Tenon has, and sums over them.
    losses = get_decompositions([torch.ops.aten.nll_loss_forward])
    how = {"fw_compiler": boxed, "inference_compiler": boxed, "decompositions": losses}
    with torch.no_grad():
        return aot_autograd(keep_inference_input_mutations=True, **how)(module, inputs)


def static_inputs() -> list[int]:
    """Return which inputs of the graph being compiled keep their addresses, as Dynamo says."""
    context = torch._guards.TracingContext.try_get()
    return list(context.fw_metadata.static_input_indices) if context and context.fw_metadata else []
