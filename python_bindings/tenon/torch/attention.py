# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Keeps masks of attention from taking it out of PyTorch's fastest kernels.

On a GPU `scaled_dot_product_attention` is a chain of float32 products and a softmax where its mask has a last
stride other than 1, and has fewer and slower kernels to choose from with a mask than without. Libraries make masks
while Dynamo traces that they would leave out in eager mode, where they can look at the elements.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import fx

from tenon.torch.masks import Mask, fake_of, kind_of

_ATTENTION = torch.nn.functional.scaled_dot_product_attention
_POSITIONS = {"attn_mask": 3, "is_causal": 5}


def keep_attention_fused(graph: fx.GraphModule) -> None:
    """Say what masks say that are the same in each call, and lay others out as fused kernels read them.

    Args:
        graph: a graph of torch's functions as Dynamo captured it, with fake tensors as `meta["example_value"]`;
            rewritten in place.

    """
    kinds: dict[fx.Node, Mask] = {}

    def known(mask: fx.Node) -> Mask:
        if mask not in kinds:
            kinds[mask] = kind_of(mask)
        return kinds[mask]

    for node in graph.graph.find_nodes(op="call_function", target=_ATTENTION):
        mask = _argument(node, "attn_mask")
        # A bias where a mask is true: the bias.
        while _is_where(mask) and known(mask.args[0]) is Mask.ALL and fake_of(mask.args[1]) is not None:
            mask = mask.args[1]
        fake = fake_of(mask)
        if fake is None:
            continue
        kind = known(mask)
        if kind is Mask.OTHER and fake.is_cuda and fake.dim() and fake.stride(-1) != 1 and fake.size(-1) != 1:
            mask = _lay_out(graph.graph, node, mask, fake)
        _set_argument(node, "attn_mask", mask if kind is Mask.OTHER else None)
        if kind is Mask.CAUSAL:
            _set_argument(node, "is_causal", True)
    graph.recompile()


def _lay_out(graph: fx.Graph, before: fx.Node, mask: fx.Node, fake: torch.Tensor) -> fx.Node:
    """Return a mask of the same elements whose rows are contiguous; what is the same for a batch is made once."""
    one = tuple(slice(0, 1) if stride == 0 else slice(None) for stride in fake.stride()[:-1])
    with graph.inserting_before(before):
        rows = graph.call_method("__getitem__", (mask, (*one, slice(None))))
        return graph.call_method("expand_as", (graph.call_method("contiguous", (rows,)), mask))


def _is_where(node: Any) -> bool:
    """Tell whether a node is a choice that has the type of its second operand."""
    if not isinstance(node, fx.Node) or node.target is not torch.where or len(node.args) != 3:
        return False
    chosen = fake_of(node.args[1])
    return chosen is not None and chosen.dtype == fake_of(node).dtype


def _argument(node: fx.Node, name: str) -> Any:
    index = _POSITIONS[name]
    return node.args[index] if len(node.args) > index else node.kwargs.get(name)


def _set_argument(node: fx.Node, name: str, value: Any) -> None:
    index = _POSITIONS[name]
    if len(node.args) > index:
        node.update_arg(index, value)
    else:
        node.update_kwarg(name, value)
