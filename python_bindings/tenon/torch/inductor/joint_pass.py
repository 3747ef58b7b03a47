# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The pass of Inductor's over a graph of forward and backward, ahead of their partition."""

from __future__ import annotations

import copy
from typing import Any

from torch import fx
from torch._inductor.custom_graph_pass import CustomGraphPass

from tenon.torch.failures import failed, strictness
from tenon.torch.fusion.recompute import recompute
from tenon.torch.inductor.graph_pass import restore, sources


class JointPass(CustomGraphPass):
    """Has backward compute what it can of what is saved anyway."""

    def __init__(self, strict: bool) -> None:
        """Take whether a failure raises."""
        self._strict = strict

    def __call__(self, graph: fx.Graph) -> None:
        """Rewrite a graph in place."""
        with strictness(self._strict):
            before = copy.deepcopy(graph)
            try:
                recompute(graph)
            except Exception as error:
                failed("a graph of forward and backward", error)
                restore(graph, before)

    def uuid(self) -> Any:
        """Return what tells this pass from others, for the keys of Inductor's caches."""
        return sources(), self._strict
