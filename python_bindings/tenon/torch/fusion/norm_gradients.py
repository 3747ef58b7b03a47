# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Batch norm's backward pass, spelled out so that its sums join the product that makes the gradient.

What the sums are of shares no node with what follows them: a call computes it again of what is in memory anyway, and
Inductor's kernel, which waits for the sums, does as well.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import torch
from torch import fx

from tenon.torch.fusion.nodes import insert
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


class Scaled(NamedTuple):
    """What is scaled, and by what: one value a feature."""

    node: fx.Node
    scale: fx.Node


def scaled_source(node: fx.Node) -> Scaled | None:
    """Return what a node scales by one value a feature, if that is all it does."""
    if op_name(node) == "aten.mul" and all(isinstance(n, fx.Node) for n in node.args):
        for source, scale in (node.args, node.args[::-1]):
            if source is not scale and torch_shape(source) == torch_shape(node) and _scales_features(node, source):
                return Scaled(source, scale)
    return None


def gradients_and_scale(
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
    source: torch.Tensor,
    scale: torch.Tensor,
) -> tuple[torch.Tensor, ...]:
    """Return what `gradients` does, and the gradient of a scale of features ahead of the norm, whose input that gave.

    That is the sum over the batch of what is scaled times the gradient of the norm's input, of which all cancels but a
    share of eps: what is left follows from the norm's own sums. Features that are scaled by 0 are multiplied by 1 for
    these, as nothing cancels there, and take the sum of what is scaled besides.
    """
    wide = torch.float64 if x.dtype == torch.float64 else torch.float32
    inverse_deviation, mean = inverse_deviation.to(wide), mean.to(wide)
    is_zero = scale == 0
    divisor = torch.where(is_zero, 1, scale)
    distance = (source * divisor).to(x.dtype).to(wide) - mean  # of features that are not scaled by 0, x - mean
    total, projection = gradient.to(wide).sum(0), (gradient.to(wide) * distance).sum(0)
    share, is_zero, divisor = 1.0 / x.shape[0], is_zero.reshape(-1), divisor.to(wide).reshape(-1)
    own = torch.where(is_zero, 0.0, projection)
    variance = inverse_deviation * inverse_deviation
    factor = inverse_deviation if weight is None else inverse_deviation * weight.to(wide)
    # Nodes of its own, as those of `gradients`.
    again = (source * torch.where(scale == 0, 1, scale)).to(x.dtype).to(wide) - mean
    of_x = (gradient.to(wide) - again * (own * share * variance) - total * share) * factor
    rest = torch.where(is_zero, projection - total * share * distance.sum(0), projection / divisor * (eps * variance))
    narrow = x.dtype if weight is None else weight.dtype
    return of_x.to(x.dtype), (own * inverse_deviation).to(narrow), total.to(narrow), rest * factor


def take_scale(node: fx.Node) -> Scaled | None:
    """Have a norm's backward pass give the gradient of a scale of features ahead of it, as one more result.

    Returns:
        what is scaled; None where there is no such gradient.

    """
    scaled = scaled_source(node.args[1])
    matrix = next((user for user in node.users if user.args[1] == 0), None)
    if scaled is None or matrix is None:
        return None
    products = [user for user in matrix.users if op_name(user) == "aten.mul" and scaled.node in user.args]
    sums = [user for product in products for user in product.users if sums_columns(user)]
    if len(sums) != 1:
        return None
    value = sums[0].meta["val"]
    with node.graph.inserting_before(sums[0]):
        result = node.graph.call_function(operator.getitem, (node, 3))
        result.meta["val"] = value.new_empty(value.shape[-1:], dtype=torch.float32)
        result = insert(torch.ops.prims.convert_element_type.default, result, value.dtype)
        result = insert(aten.reshape.default, result, list(value.shape))
    sums[0].replace_all_uses_with(result)
    node.graph.erase_node(sums[0])
    return scaled


def drop_sums(node: fx.Node) -> None:
    """Replace sums over the batch of the gradient of a norm's input: they are 0 but for rounding.

    Such is the gradient of a bias ahead of the norm, which takes it away with the mean. The zeros are made of the
    gradient of the norm's own bias and of the deviations, so that what is not finite stays so.
    """
    results = {user.args[1]: user for user in node.users}
    if 0 not in results or 2 not in results:
        return
    for total in list(_sums_of(results[0])):
        value = total.meta["val"]
        with node.graph.inserting_before(total):
            zeros = [insert(aten.mul.Tensor, of_features, 0.0) for of_features in (results[2], node.args[6])]
            zeros = insert(aten.add.Tensor, *zeros)
            zeros = insert(torch.ops.prims.convert_element_type.default, zeros, value.dtype)
            zeros = insert(aten.reshape.default, zeros, list(value.shape))
        total.replace_all_uses_with(zeros)
        node.graph.erase_node(total)


def _sums_of(matrix: fx.Node) -> Iterable[fx.Node]:
    """Yield the sums over the batch of a matrix, and of its products with one value a feature.

    A view with other columns has sums over a part of the batch, or of several features.
    """
    for user in matrix.users:
        if sums_columns(user):
            yield user
        elif _has_columns_of(user, matrix) or _scales_features(user, matrix):
            yield from _sums_of(user)


def _has_columns_of(node: fx.Node, matrix: fx.Node) -> bool:
    """Tell whether a node is a view or a cast with the columns of a matrix."""
    is_same = matrix in (view_source(node), cast_source(node))
    return is_same and torch_shape(node)[-1:] == torch_shape(matrix)[-1:]


def _scales_features(node: fx.Node, matrix: fx.Node) -> bool:
    if op_name(node) != "aten.mul" or torch_shape(node) != torch_shape(matrix):
        return False
    (factor,) = [n for n in node.args if n is not matrix] or [matrix]
    shape = torch_shape(factor) if isinstance(factor, fx.Node) else ()
    return shape is not None and all(d == 1 for d in shape[:-1])
