# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The function of a graph, by which it is called without nn.Module's ways.

PyTorch makes some graph modules lazily: the first call of their `forward` compiles it, and calls the module. With
that, hooks that the user registered for all modules run on a module that is none of the user's.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from torch import fx
from torch.fx._lazy_graph_module import _LazyGraphModule, _use_lazy_graph_module


def function_of(graph: fx.GraphModule) -> Callable[..., Any]:
    """Return a graph's function, compiled."""
    if isinstance(graph, _LazyGraphModule):
        graph.real_recompile()
    return graph.forward


def no_lazy_modules() -> AbstractContextManager[None]:
    """Have PyTorch compile the graph modules that it makes at once."""
    return _use_lazy_graph_module(False)
