# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cuts copies of a graph, to find which norms had better be taken by the layers behind them."""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Mapping

from torch import fx

from tenon.torch.fusion.ahead import has_norms

Cut = Callable[[fx.GraphModule, Collection[str] | None], Mapping[fx.Node, Collection[fx.Node]]]


def norms_worth_moving(gm: fx.GraphModule, cut: Cut) -> set[str]:
    """Return the names of what norms give, all of whose layers are calls that are faster with what the norms take.

    Args:
        gm: whose graph is to be cut.
        cut: cuts a graph, of which norms whose results have these names may move, or all; returns the layers that took
            what norms took, by the nodes that had their results. Layers that are no calls stay in the graph.

    """
    if not has_norms(gm.graph):
        return set()
    names: set[str] | None = None
    while True:
        trial = fx.GraphModule(gm, copy.deepcopy(gm.graph))
        moved = cut(trial, names)
        left = set(trial.graph.nodes)
        worth = {normed.name for normed, layers in moved.items() if left.isdisjoint(layers)}
        if not worth or len(worth) == len(moved):
            return worth
        names = worth
