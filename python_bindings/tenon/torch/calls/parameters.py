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
from collections.abc import Sequence
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.optim.optimizer import register_optimizer_step_post_hook

from tenon import _native


def refresh() -> None:
    """Have every compiled model prepare its parameters anew at its next call.

    Needed only after values changed behind PyTorch's back: through `.data` in place,
    or by the replay of a CUDA graph.
    """
    _native.end_versions()


def version_of(parameters: Sequence[torch.Tensor]) -> _native.Version:
    """Return the version of parameters as they are now."""
    _count_fused_steps()
    storages = [StorageWeakRef(p.untyped_storage()) for p in parameters]
    return _native.Version(list(parameters), storages, torch.UntypedStorage._expired)


@functools.cache
def _count_fused_steps() -> None:
    register_optimizer_step_post_hook(_after_step)


def _after_step(optimizer: torch.optim.Optimizer, args: Any, kwargs: Any) -> None:
    for group in optimizer.param_groups:
        if group.get("fused"):
            torch.autograd.graph.increment_version([p for p in group["params"] if p.grad is not None])
