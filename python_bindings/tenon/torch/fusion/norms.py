# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Norms in Tenon's words; for batch norm PyTorch has one op on each device, and more."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import fx

from tenon.importer.builder import InexpressibleError, Value
from tenon.torch.fusion.lowering import Lowering
from tenon.torch.fusion.rows import is_row_norm, lower_row_norm
from tenon.torch.fusion.shapes import torch_shape
from tenon.torch.fusion.views import arguments, dtype_of, op_name


class _Form(NamedTuple):
    """What tells one op from another: when it takes the batch's statistics, and where new running ones go."""

    training: bool | None  # None: as its argument says
    new_statistics: tuple[int, int] | None  # numbers of the results; None: written in place


# Results 1 and 2 are the mean and the inverse deviation, saved for a backward pass; later ones that are not new
# running statistics are of no use to others than PyTorch.
FORMS = {
    "aten._native_batch_norm_legit_functional": _Form(None, (3, 4)),
    "aten._native_batch_norm_legit": _Form(None, None),
    "aten._native_batch_norm_legit_no_training": _Form(False, None),
    "aten.native_batch_norm": _Form(None, None),
    "aten.cudnn_batch_norm": _Form(None, None),
    "aten.batch_norm": _Form(None, None),
    "aten._batch_norm_impl_index": _Form(None, None),
    "aten._batch_norm_with_update": _Form(True, None),
    "aten.batch_norm_with_update": _Form(True, None),
    "aten._batch_norm_with_update_functional": _Form(True, (4, 5)),
    "aten._batch_norm_no_update": _Form(False, None),
}
_SAVED = (1, 2)
_MOMENTS = "tenon.batch_moments"


class Norm(NamedTuple):
    """Values of a norm: by result number, and those written in place, by placeholder."""

    results: dict[int, Value]
    in_place: list[tuple[fx.Node, Value]]


def is_batch_norm(node: fx.Node) -> bool:
    """Tell whether a node is one of the ops, or gives what the batch norm of several processes exchanges."""
    return op_name(node) in FORMS or is_moments(node)


def known_statistics(node: fx.Node) -> dict[str, Any] | None:
    """Return what a batch norm is given that normalises with statistics it is given; None of others."""
    if op_name(node) not in FORMS:
        return None
    form, given = FORMS[op_name(node)], arguments(node)
    training = form.training if form.training is not None else given["training"]
    return None if training or given.get("running_mean") is None else given


def is_norm(node: fx.Node) -> bool:
    """Tell whether a node is a norm of several results."""
    return is_batch_norm(node) or is_row_norm(node)


def is_moments(node: fx.Node) -> bool:
    """Tell whether a node gives the moments of a matrix's columns."""
    return op_name(node) == _MOMENTS


def lower_norm(b: Lowering, node: fx.Node) -> Norm:
    """Append a norm.

    Raises:
        InexpressibleError: Tenon has no such norm.

    """
    return Norm(lower_row_norm(b, node), []) if is_row_norm(node) else lower_batch_norm(b, node)


def lower_batch_norm(b: Lowering, node: fx.Node) -> Norm:
    """Append a batch norm of `[M, N]` over M.

    Raises:
        InexpressibleError: Tenon has no such batch norm.

    """
    if is_moments(node):
        return Norm(dict(enumerate(b.batch_moments(b.tensor(node.args[0])))), [])
    form, given = FORMS[op_name(node)], arguments(node)
    mean, variance = given.get("running_mean"), given.get("running_var")
    training = known_statistics(node) is None
    eps = b.number(given.get("eps", given.get("epsilon")))
    momentum = b.number(given.get("momentum", given.get("exponential_average_factor")))
    largest = torch.finfo(torch.float32).max
    if not (abs(momentum) <= largest and 0 <= eps <= largest):
        raise InexpressibleError("its eps is negative, or eps or momentum is no finite float32")
    eps = abs(eps)  # no -0.0
    shape = torch_shape(given["input"])
    if len(shape) != 2:
        raise InexpressibleError("it normalises a dimension that is not the last of two")
    x = b.tensor(given["input"])
    weight, bias = b.optional_tensor(given["weight"]), b.optional_tensor(given["bias"])
    if not training:
        y = b.batch_norm_inference(x, b.tensor(mean), b.tensor(variance), weight, bias, eps)
        return _checked(node, Norm({0: y}, []))
    if shape[0] == 1:
        raise InexpressibleError("PyTorch refuses to train it on a batch of one")
    running = None if mean is None else (b.tensor(mean), b.tensor(variance))
    saved = _saved(node)
    y, *statistics = b.batch_norm_training(x, weight, bias, running, eps, momentum, save=bool(saved))
    results = {0: y} | {i: b.cast(statistics[i - 3], dtype) for i, dtype in saved.items()}
    statistics = statistics[:2] if running else []
    if form.new_statistics:
        results |= dict(zip(form.new_statistics, statistics, strict=False))
        return _checked(node, Norm(results, []))
    if running:
        _check_written(node, mean, variance)
    return _checked(node, Norm(results, list(zip((mean, variance), statistics, strict=False))))


def _saved(node: fx.Node) -> dict[int, str | None]:
    """Return the saved statistics that are used, by result number, and their dtypes."""
    if op_name(node) == "aten.batch_norm":
        return {}
    return {u.args[1]: dtype_of(u) for u in node.users if u.users and u.args[1] in _SAVED}


def _checked(node: fx.Node, norm: Norm) -> Norm:
    """Check that no result is used that Tenon does not give."""
    if op_name(node) == "aten.batch_norm":
        return norm
    for user in node.users:
        if user.users and user.args[1] not in norm.results:
            raise InexpressibleError("what it saves for a backward pass is used, and is not the batch's statistics")
    return norm


def _check_written(node: fx.Node, *statistics: fx.Node) -> None:
    for statistic in statistics:
        if statistic.op != "placeholder" or list(statistic.users) != [node]:
            raise InexpressibleError("running statistics that it writes in place are used elsewhere")
