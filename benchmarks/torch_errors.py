# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Errors of a call against float64: of all results, and of the buffers that it updates."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import nn
from torch.utils import _pytree as pytree

Tensors = list[torch.Tensor]


def observe(module: nn.Module, call: Callable, inputs: Sequence[torch.Tensor]) -> tuple[Tensors, Tensors]:
    """Call once on copies of the inputs; return the results and copies of the module's buffers, where floats."""
    leaves = pytree.tree_leaves(call(*(t.clone() for t in inputs)))
    results = [t for t in leaves if isinstance(t, torch.Tensor) and t.is_floating_point()]
    return results, [b.clone() for b in module.buffers() if b.is_floating_point()]


def observe_exact(module: nn.Module, inputs: Sequence[torch.Tensor]) -> tuple[Tensors, Tensors]:
    """Do the same in float64 with the numbers that the module and the inputs have; the module becomes float64."""
    wide = module.double()
    return observe(wide, wide, [t.double() for t in inputs])


def errors(got: tuple[Tensors, Tensors], exact: tuple[Tensors, Tensors]) -> dict[str, float]:
    """Return the max and rms error of the results, and the max error of the buffers if there are any."""
    largest, rms = _compare(got[0], exact[0])
    found = {"max": largest, "rms": rms}
    if got[1]:
        found["buffers_max"] = _compare(got[1], exact[1])[0]
    return found


def scale(exact: tuple[Tensors, Tensors]) -> float:
    """Return the root of the mean square of the exact results, by which errors are judged."""
    return _compare(exact[0], [torch.zeros((), device=t.device) for t in exact[0]])[1]


def _compare(got: Tensors, exact: Tensors) -> tuple[float, float]:
    """Return the max and the rms difference over all elements; NaN where there is one."""
    largest, squares, count = 0.0, 0.0, 0
    for a, b in zip(got, exact, strict=True):
        difference = (a.double() - b).abs()
        largest = torch.maximum(torch.tensor(largest), difference.max().cpu()).item()  # keeps NaN
        squares += difference.square().sum().item()
        count += difference.numel()
    return largest, (squares / max(count, 1)) ** 0.5
