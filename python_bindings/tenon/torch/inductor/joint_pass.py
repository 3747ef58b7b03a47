# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A pass of Inductor's over a graph of forward and backward, before they are parted."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from torch import fx
from torch._inductor.custom_graph_pass import CustomGraphPass

from tenon.torch.failures import failed, strictness
from tenon.torch.inductor.graph_pass import FusePass, restore


class JointPass(CustomGraphPass):
    """Has a function rewrite a graph in place; where that fails, the graph stays as it was."""

    def __init__(
        self, fuse: FusePass, applies: Callable[[fx.Graph], bool], rewrite: Callable[[fx.Graph], None]
    ) -> None:
        """Take the pass that forward and backward will go through, what rewrites them together, and whether it does.

        To copy a graph takes longer than to see that there is nothing to rewrite.
        """
        self._fuse, self._applies, self._rewrite = fuse, applies, rewrite

    def __call__(self, graph: fx.Graph) -> None:
        """Rewrite a graph in place."""
        with strictness(self._fuse.options.strict):
            before = None
            try:
                if self._applies(graph):
                    before = copy.deepcopy(graph)
                    self._rewrite(graph)
            except Exception as error:
                failed("a graph of forward and backward", error)
                if before is not None:
                    restore(graph, before)

    def uuid(self) -> Any:
        """Return what tells this pass from others, for the keys of Inductor's caches."""
        return self._rewrite.__name__, self._fuse.uuid()
