# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Batch norm's backward pass, spelled out so that its sums join the product that makes the gradient.

What the sums are of shares no node with what follows them: a call computes it again of what is in memory anyway, and
Inductor's kernel, which waits for the sums, does as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import fx

from tenon.torch.fusion.rows import sums_columns
from tenon.torch.fusion.shapes import torch_shape
from tenon.torch.fusion.views import cast_source, op_name, view_source

aten = torch.ops.aten
NORM_GRADIENT = aten.native_batch_norm_backward.default


def without_running(rule: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Decompose a batch norm's backward pass for a trace, of which that of a batch `[M, N]` stays whole.

    It takes no running statistics then, which would be kept for it. `rule` decomposes others.
    """
    given = dict(zip((a.name for a in NORM_GRADIENT._schema.arguments), args, strict=False)) | kwargs
    if not given["train"] or given["input"].dim() != 2:
        return rule(*args, **kwargs)
    if given["running_mean"] is None and given["running_var"] is None:
        return NotImplemented
    return NORM_GRADIENT(**given | {"running_mean": None, "running_var": None})


def gradients(
    gradient: torch.Tensor,
    x: torch.Tensor,
    weight: torch.Tensor | None,
    running_mean: torch.Tensor | None,
    running_var: torch.Tensor | None,
    mean: torch.Tensor,
    inverse_deviation: torch.Tensor,
    train: bool,
    eps: float,
    output_mask: list[bool],
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return the gradients of x, weight and bias, as PyTorch's decomposition computes them."""
    wide = torch.float64 if x.dtype == torch.float64 else torch.float32
    inverse_deviation = inverse_deviation.to(wide)
    total = gradient.to(wide).sum(0)
    projection = (gradient.to(wide) * (x.to(wide) - mean.to(wide))).sum(0)
    share = 1.0 / x.shape[0]
    slope = projection * share * (inverse_deviation * inverse_deviation)
    scale = inverse_deviation if weight is None else inverse_deviation * weight.to(wide)
    # Nodes of its own: see above.
    of_x = (gradient.to(wide) - (x.to(wide) - mean.to(wide)) * slope - total * share) * scale
    narrow = x.dtype if weight is None else weight.dtype
    return of_x.to(x.dtype), (projection * inverse_deviation).to(narrow), total.to(narrow)


def drop_sums(node: fx.Node) -> None:
    """Replace sums over the batch of the gradient of a norm's input: they are 0 but for rounding.

    Such is the gradient of a bias ahead of the norm, which takes it away with the mean. The zeros are made of the
    gradient of the norm's own bias, so that what is not finite stays so.
    """
    results = {user.args[1]: user for user in node.users}
    if 0 not in results or 2 not in results:
        return
    for total in list(_sums_of(results[0])):
        value = total.meta["val"]
        with node.graph.inserting_before(total):
            zeros = _insert(aten.mul.Tensor, results[2], 0.0)
            zeros = _insert(torch.ops.prims.convert_element_type.default, zeros, value.dtype)
            zeros = _insert(aten.reshape.default, zeros, list(value.shape))
        total.replace_all_uses_with(zeros)
        node.graph.erase_node(total)


def _sums_of(matrix: fx.Node) -> Iterable[fx.Node]:
    """Yield the sums over the batch of a matrix, and of its products with one value a feature."""
    for user in matrix.users:
        if sums_columns(user):
            yield user
        elif matrix in (view_source(user), cast_source(user)) or _scales_features(user, matrix):
            yield from _sums_of(user)


def _scales_features(node: fx.Node, matrix: fx.Node) -> bool:
    if op_name(node) != "aten.mul" or torch_shape(node) != torch_shape(matrix):
        return False
    (factor,) = [n for n in node.args if n is not matrix] or [matrix]
    shape = torch_shape(factor) if isinstance(factor, fx.Node) else ()
    return shape is not None and all(d == 1 for d in shape[:-1])


def _insert(op: torch._ops.OpOverload, *args: object) -> fx.Node:
    graph = args[0].graph
    node = graph.call_function(op, args)
    node.meta["val"] = op(*fx.map_arg(args, lambda n: n.meta["val"]))
    return node
