# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is known of a mask before a call: whether it depends on no input, and lets all pass, or what is causal."""

from __future__ import annotations

import enum
import math
from typing import Any

import torch
from torch import fx
from torch._subclasses.fake_tensor import unset_fake_temporarily
from torch.utils._python_dispatch import TorchDispatchMode

# A mask is evaluated while a model is compiled, and takes memory then.
_MOST_BYTES = 2**28
# What gives elements of its first operand as they are, by the names of functions and methods.
_VIEWS = {"broadcast_to", "clone", "contiguous", "expand", "expand_as", "flatten", "getitem", "permute", "repeat"}
_VIEWS |= {"reshape", "squeeze", "transpose", "unsqueeze", "view", "view_as"}
_ANDS = {"and_", "bitwise_and", "logical_and"}
_ORS = {"bitwise_or", "logical_or", "or_"}


class Mask(enum.Enum):
    """What a mask lets pass, whatever a graph's inputs are: one of booleans, or of numbers that scores are added to."""

    ALL = "true everywhere, or zero"
    CAUSAL = "a square whose lower triangle passes, the diagonal with it, and nothing else"
    OTHER = "something else, or not known"


def kind_of(mask: Any) -> Mask:
    """Return what a node of Dynamo's graph is; OTHER if it is no tensor of booleans or floating-point numbers."""
    fake = fake_of(mask)
    if fake is None or not (fake.dtype == torch.bool or fake.dtype.is_floating_point):
        return Mask.OTHER
    value = _evaluate(mask)
    if value is None:
        return Mask.ALL if fake.dtype == torch.bool and _is_true(mask) else Mask.OTHER
    passes = value if fake.dtype == torch.bool else value == 0
    if passes.all():
        return Mask.ALL
    if fake.dtype.is_floating_point and not (passes | (value <= torch.finfo(fake.dtype).min)).all():
        return Mask.OTHER
    is_square = value.dim() >= 2 and value.shape[-1] == value.shape[-2]
    return Mask.CAUSAL if is_square and torch.equal(passes, torch.ones_like(passes).tril()) else Mask.OTHER


def fake_of(node: Any) -> torch.Tensor | None:
    """Return the fake tensor that stands for a node of Dynamo's graph, if that is a tensor."""
    value = node.meta.get("example_value") if isinstance(node, fx.Node) else None
    return value if isinstance(value, torch.Tensor) else None


class _Deterministic(TorchDispatchMode):
    """Refuses what gives something else each time, and what is not PyTorch's."""

    def __torch_dispatch__(self, op: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if op.namespace not in ("aten", "prim", "prims") or torch.Tag.nondeterministic_seeded in op.tags:
            raise _NotConstantError
        return op(*args, **(kwargs or {}))


class _NotConstantError(Exception):
    pass


def _evaluate(mask: fx.Node) -> torch.Tensor | None:
    """Return the elements of a tensor that depends on no input and no size that may change; None for others."""
    fake = fake_of(mask)
    if not all(isinstance(extent, int) for extent in fake.shape) or fake.nbytes > _MOST_BYTES:
        return None
    nodes, pending = set(), [mask]
    while pending:
        node = pending.pop()
        if node not in nodes:
            if node.op not in ("call_function", "call_method") or not _is_as_made(node):
                return None
            nodes.add(node)
            pending += node.all_input_nodes
    values: dict[fx.Node, Any] = {}
    try:
        with unset_fake_temporarily(), torch.no_grad(), _Deterministic():
            for node in mask.graph.nodes:
                if node in nodes:
                    args, kwargs = fx.map_arg((node.args, node.kwargs), values.__getitem__)
                    function = node.target if node.op == "call_function" else getattr(args[0], node.target)
                    values[node] = function(*(args if node.op == "call_function" else args[1:]), **kwargs)
    except _NotConstantError:
        return None
    return values[mask]


def _is_true(node: Any) -> bool:
    """Prove that all elements of a tensor of booleans are true, of whatever extents it is."""
    if not isinstance(node, fx.Node):
        return node is True
    if not _is_as_made(node):
        return False
    name = _name(node)
    if name in _VIEWS:
        return _is_true(node.args[0])
    if name in _ANDS:
        return all(map(_is_true, node.args))
    if name in _ORS:
        return any(map(_is_true, node.args))
    if name in ("ge", "gt") and len(node.args) == 2 and isinstance(node.args[1], int):
        least = _least(node.args[0])
        return least > node.args[1] or (name == "ge" and least == node.args[1])
    return name in ("new_ones", "ones", "ones_like") and fake_of(node).dtype == torch.bool


def _least(node: Any) -> float:
    """Return a number that no element of a tensor of integers is below."""
    if isinstance(node, int):
        return node
    if not isinstance(node, fx.Node) or not _is_as_made(node):
        return -math.inf
    name = _name(node)
    if name in _VIEWS:
        return _least(node.args[0])
    if name == "add" and len(node.args) == 2 and not node.kwargs:
        return sum(map(_least, node.args))
    if name == "arange" and len(node.args) in (1, 2) and not {"start", "end", "step", "out"} & node.kwargs.keys():
        start = node.args[0] if len(node.args) == 2 else 0
        return start if isinstance(start, int) else -math.inf
    return -math.inf


def _is_as_made(node: fx.Node) -> bool:
    """Tell whether nothing writes into a tensor after it was made; Dynamo ran all that does on its fake tensor."""
    fake = fake_of(node)
    return fake is not None and not fake.is_inference() and fake._version == 0


def _name(node: fx.Node) -> str:
    if node.op == "call_method":
        return node.target.strip("_")
    return getattr(node.target, "__name__", "") if node.op == "call_function" else ""
