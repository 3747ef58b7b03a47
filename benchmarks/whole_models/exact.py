# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a model gives in float64, and how far a contender is from it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree as pytree

Tensors = list[torch.Tensor]


class Wide(TorchFunctionMode):
    """Has code that asks for float32, as norms of transformers do, work in float64."""

    def __torch_function__(
        self, func: Callable, types: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Call with float64 in place of float32."""
        if func is torch.Tensor.float:
            return args[0].double()
        args, kwargs = pytree.tree_map(
            lambda a: torch.float64 if a is torch.float32 else a, (tuple(args), dict(kwargs or {}))
        )
        return func(*args, **kwargs)


@dataclass
class Observed:
    """The output, and the gradients of parameters and inputs where backward was run."""

    output: torch.Tensor
    gradients: Tensors | None = None


def beside(output: torch.Tensor | tuple[torch.Tensor, ...]) -> torch.Tensor:
    """Return one tensor of a module's results, which have the same rows."""
    return torch.cat(output, -1) if isinstance(output, tuple) else output


def leaves(module: nn.Module, inputs: Iterable[torch.Tensor]) -> Tensors:
    """Return what gradients are wanted of."""
    return [t for t in (*module.parameters(), *inputs) if t.requires_grad]


def loss_of(output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Return the mean square distance from a random target, whose gradient no norm makes vanish."""
    return torch.nn.functional.mse_loss(output.float(), target.float())


def observe_exact(
    module: nn.Module, inputs: Sequence[torch.Tensor], target: torch.Tensor | None, parts: int
) -> Observed:
    """Run a copy of the module in float64, a part of the batch at a time; with a target, backward as well."""
    wide = copy.deepcopy(module).double()
    widened = [t.detach().double().requires_grad_(t.requires_grad) if t.is_floating_point() else t for t in inputs]
    outputs = []
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        for part in zip(*(t.chunk(parts) for t in widened), strict=True):
            with Wide():
                output = beside(wide(*part))
            if target is not None:
                begin = sum(o.shape[0] for o in outputs)
                wanted = target[begin : begin + output.shape[0]].double()
                ((output - wanted).square().sum() / target.numel()).backward()
            outputs.append(output.detach())
    finally:
        torch.set_default_dtype(before)
    return Observed(torch.cat(outputs), None if target is None else gradients_of(wide, widened))


def gradients_of(module: nn.Module, inputs: Iterable[torch.Tensor]) -> Tensors:
    """Return the gradients, zeros where there is none."""
    return [torch.zeros_like(t) if t.grad is None else t.grad for t in leaves(module, inputs)]


def relative_error(got: Iterable[torch.Tensor], exact: Iterable[torch.Tensor]) -> float:
    """Return the norm of all differences over that of all exact numbers."""
    difference, norm = 0.0, 0.0
    for a, b in zip(got, exact, strict=True):
        if a.shape != b.shape:
            raise AssertionError(f"the result's shape is {tuple(a.shape)}, not {tuple(b.shape)}")
        difference += (a.double() - b).square().sum().item()
        norm += b.double().square().sum().item()
    return (difference / norm) ** 0.5


def errors(got: Observed, exact: Observed) -> dict[str, float]:
    """Return the errors of the output and of all gradients together."""
    found = {"output": relative_error([got.output], [exact.output])}
    if got.gradients is not None and exact.gradients is not None:
        found["gradients"] = relative_error(got.gradients, exact.gradients)
    return found
