# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Has Inductor compile a graph that Dynamo captured, with Tenon's pass in it."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import fx
from torch._inductor import config
from torch._inductor.compile_fx import compile_fx
from torch._inductor.custom_graph_pass import CustomGraphPass

from tenon.torch.calls.call import refresh_prepared
from tenon.torch.failures import failed
from tenon.torch.fusion.recompute import may_recompute, recompute
from tenon.torch.inductor.decompositions import inductors_table
from tenon.torch.inductor.graph_pass import FusePass
from tenon.torch.inductor.joint_pass import JointPass
from tenon.torch.options import Options


def compile_with_inductor(
    graph: fx.GraphModule, inputs: Sequence[Any], options: Options, mode: str | None
) -> Callable[..., Any]:
    """Return what torch.compile makes of a graph, with Tenon's calls in it.

    Args:
        graph: the graph, in terms of torch's functions; it is changed.
        inputs: fake tensors and sizes.
        options: how to compile; their `inductor` are Inductor's.
        mode: one of torch.compile's.

    """
    parameters = frozenset(i for i, t in enumerate(inputs) if isinstance(t, torch.nn.Parameter))
    patches = dict(torch._inductor.list_mode_options(mode or "default")) | dict(options.inductor)
    untouched = fx.GraphModule(graph, copy.deepcopy(graph.graph))  # with the same tensors
    untouched.meta = dict(graph.meta)
    try:
        own = patches | _with_passes(FusePass(options, parameters, len(inputs)), options)
        compiled = compile_fx(graph, inputs, config_patches=own, decompositions=inductors_table())
    except Exception as error:
        compiled = compile_fx(untouched, inputs, config_patches=patches)  # raises what is not Tenon's fault
        failed("a graph", error)
    has_graphs = patches.get("triton.cudagraphs", config.triton.cudagraphs)
    return _refreshing(compiled) if has_graphs else compiled


def _with_passes(fuse: FusePass, options: Options) -> dict[str, Any]:
    """Return Inductor's settings that have passes run ahead of the user's own; a report takes a new compilation."""
    rewrites = JointPass(fuse, fuse.may_rewrite_together, fuse.rewrite_together)
    patches: dict[str, Any] = {
        "joint_custom_pre_pass": _ahead_of(rewrites, config.joint_custom_pre_pass),
        # Inductor's own passes merge equal nodes.
        "joint_custom_post_pass": _ahead_of(JointPass(fuse, may_recompute, recompute), config.joint_custom_post_pass),
        "post_grad_custom_pre_pass": _ahead_of(fuse, config.post_grad_custom_pre_pass),
    }
    return patches | ({"force_disable_caches": True} if options.verbose else {})


def _ahead_of(own: CustomGraphPass, given: Any) -> Any:
    passes = [own, *(given if isinstance(given, list | tuple) else [given] if given else [])]
    return passes if len(passes) > 1 else own


def _refreshing(compiled: Callable[..., Any]) -> Callable[..., Any]:
    """Have what was made of parameters up to date when a CUDA graph that reads it is replayed."""

    @functools.wraps(compiled)
    def call(*args: Any) -> Any:
        refresh_prepared()
        return compiled(*args)

    return call
