# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A call's arguments and results as flat tensors, constants and a structure."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.utils import _pytree as pytree

from tenon.torch.modules.guards import TENSOR_TYPES
from tenon.torch.modules.reads import PLAIN_TYPES, Impure, identity, is_plain


@dataclasses.dataclass(frozen=True)
class CallArguments:
    """The arguments of a call.

    Attributes:
        tensors: the tensors, in order.
        structure: equal for calls that differ in their tensors at most; the number of
            arguments where all are positional and tensors.
        rebuild: from other tensors to (args, kwargs).
        mutable: whether there is a container that a callee might change.

    """

    tensors: tuple[torch.Tensor, ...]
    structure: Any
    rebuild: Callable[[Sequence[torch.Tensor]], tuple[tuple, dict[str, Any]]]
    mutable: bool = False


def take_apart(args: tuple, kwargs: dict[str, Any]) -> CallArguments:
    """Take a call's arguments apart; raise Impure if that is not possible."""
    leaves, count, names = (*args, *kwargs.values()), len(args), tuple(kwargs)
    if not kwargs and all(type(leaf) in TENSOR_TYPES for leaf in leaves):
        return CallArguments(args, count, lambda tensors: (tuple(tensors), {}))
    nested = not all(type(leaf) in TENSOR_TYPES or type(leaf) in PLAIN_TYPES for leaf in leaves)
    form: Any = (count, names)
    if nested:
        leaves, form = pytree.tree_flatten((args, kwargs))
    tensors, constants = _separate(leaves)
    for leaf in constants.values():
        if not is_plain(leaf):
            raise Impure(f"an argument is a {type(leaf).__name__}")

    def rebuild(others: Sequence[torch.Tensor]) -> tuple[tuple, dict[str, Any]]:
        given = _merge(others, constants)
        if nested:
            return pytree.tree_unflatten(given, form)
        return tuple(given[:count]), dict(zip(names, given[count:], strict=True))

    structure = (form, tuple([(i, *identity(leaf)) for i, leaf in constants.items()]))
    return CallArguments(tuple(tensors), structure, rebuild, any(map(_is_mutable, (*args, *kwargs.values()))))


def take_result_apart(result: Any) -> tuple[list[torch.Tensor], Callable[[Sequence[torch.Tensor]], Any]]:
    """Return a result's tensors, and a function from others to such a result.

    Raises:
        Impure: the result holds what is neither a tensor nor a number.

    """
    if isinstance(result, torch.Tensor):
        return [result], lambda tensors: tensors[0]
    if type(result) in (tuple, list) and all(isinstance(element, torch.Tensor) for element in result):
        return list(result), type(result)
    leaves, spec = pytree.tree_flatten(result)
    tensors, constants = _separate(leaves)
    for leaf in constants.values():
        if type(leaf) not in (bool, int, float, type(None)):
            raise Impure(f"a result is a {type(leaf).__name__}")
    return tensors, lambda others: pytree.tree_unflatten(_merge(others, constants), spec)


def _is_mutable(argument: Any) -> bool:
    if type(argument) is tuple:
        return any(map(_is_mutable, argument))
    return type(argument) not in TENSOR_TYPES and not is_plain(argument)


def _separate(leaves: Sequence[Any]) -> tuple[list[torch.Tensor], dict[int, Any]]:
    tensors, constants = [], {}
    for i, leaf in enumerate(leaves):
        if isinstance(leaf, torch.Tensor):
            tensors.append(leaf)
        else:
            constants[i] = leaf
    return tensors, constants


def _merge(tensors: Sequence[torch.Tensor], constants: dict[int, Any]) -> list[Any]:
    leaves = list(tensors)
    for i, value in constants.items():  # in increasing order
        leaves.insert(i, value)
    return leaves
