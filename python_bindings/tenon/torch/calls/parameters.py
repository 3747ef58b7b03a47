# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tells one version of a model's parameters from the next.

A version is known by the tensors' identity, memory and version counters. PyTorch's
fused optimizers write without counting, so a hook on optimizers counts for them. A
write through `parameter.data` (`p.data.mul_(2)`) or by a replayed CUDA graph is not
counted by anyone: `refresh` tells of it. A swap (`p.data = other`) is seen.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Sequence
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.optim.optimizer import register_optimizer_step_post_hook

_epoch = 0


def refresh() -> None:
    """Have every compiled model prepare its parameters anew at its next call.

    Needed only after values changed behind PyTorch's back: through `.data` in place,
    or by the replay of a CUDA graph.
    """
    global _epoch
    _epoch += 1


class Version:
    """A version of some parameters: dtype and device of each are those of its memory."""

    def __init__(self, parameters: Sequence[torch.Tensor]) -> None:
        """Record the parameters as they are now."""
        _count_fused_steps()
        self._epoch = _epoch
        self._stamps = [_Stamp(p) for p in parameters]

    def holds(self, parameters: Sequence[torch.Tensor]) -> bool:
        """Tell whether these are the same parameters, unchanged."""
        if self._epoch != _epoch:
            return False
        return all(map(_Stamp.holds, self._stamps, parameters))

    def is_of(self, parameters: Sequence[torch.Tensor]) -> bool:
        """Tell whether this is a version of these parameters, the present one or not."""
        return all(s.tensor() is p for s, p in zip(self._stamps, parameters, strict=True))

    def parameters(self) -> list[torch.Tensor] | None:
        """Return the parameters that this is a version of; None where one is gone."""
        found = [stamp.tensor() for stamp in self._stamps]
        return None if any(tensor is None for tensor in found) else found


class _Stamp:
    """One parameter's identity, memory and version counter."""

    __slots__ = ("expired", "pointer", "tensor", "version")

    def __init__(self, tensor: torch.Tensor) -> None:
        self.tensor = weakref.ref(tensor)
        self.pointer = tensor.data_ptr()
        # Memory at the same address is the same only while the old one is alive.
        self.expired = StorageWeakRef(tensor.untyped_storage()).expired
        # A tensor made in inference mode has no counter: nothing holds for it.
        self.version = None if tensor.is_inference() else tensor._version

    def holds(self, tensor: torch.Tensor) -> bool:
        return (
            self.tensor() is tensor
            and self.version is not None
            and self.pointer == tensor.data_ptr()
            and self.version == tensor._version
            and not self.expired()
        )


@functools.cache
def _count_fused_steps() -> None:
    register_optimizer_step_post_hook(_after_step)


def _after_step(optimizer: torch.optim.Optimizer, args: Any, kwargs: Any) -> None:
    for group in optimizer.param_groups:
        if group.get("fused"):
            torch.autograd.graph.increment_version([p for p in group["params"] if p.grad is not None])
