# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What must hold for a captured graph to be what a module's forward would do now."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch._C import _functorch
from torch._C import _get_tracing_state as tracing_state
from torch._C import _len_torch_dispatch_stack as dispatch_modes
from torch._C import _len_torch_function_stack as function_modes
from torch._C._dynamo.guards import GlobalStateGuard, TensorGuards
from torch.autograd import forward_ad

from tenon._native import Guard
from tenon.torch.reads import Reads

_interpreters = _functorch.peek_interpreter_stack
# Tensors that are nothing else: subclasses may give operations a meaning of their own.
TENSOR_TYPES = frozenset({torch.Tensor, torch.nn.Parameter})


def is_plain_context() -> bool:
    """Tell whether a call is only that: nothing records, transforms or traces it.

    A compiler is not asked for: `forward` did that.
    """
    return not (
        function_modes()
        or dispatch_modes()
        or _interpreters() is not None
        or forward_ad._current_level >= 0
        or tracing_state() is not None
    )


class Ambient:
    """PyTorch's state of a thread: autograd's and autocast's modes, precision, default dtype.

    Attributes:
        key: equal for equal states.
        autocast: whether autocast was on, for any device.

    """

    def __init__(self) -> None:
        """Record the state as it is now."""
        state = GlobalStateGuard()
        self._check = state.check
        self._precision = torch.get_float32_matmul_precision()
        self.key = (state.__getstate__(), self._precision, torch.is_inference_mode_enabled())
        self.autocast = torch._C._is_any_autocast_enabled()

    def holds(self) -> bool:
        """Tell whether the state is as it was. Of inference mode the tensors tell."""
        return self._check() and torch.get_float32_matmul_precision() == self._precision


def guard_tree(reads: Reads) -> Guard:
    """Return a function that gives the tensors that were read as they are now, None if anything else changed."""
    results, _ = reads.unique_tensors()  # first: it adds items
    return Guard(
        items=reads.items.values(),
        absent=reads.absent.values(),
        attributes=reads.attributes.values(),
        sizes=reads.sizes.values(),
        results=results,
    )


def guard_tensors(tensors: Sequence[torch.Tensor], dynamic: Sequence[frozenset[int]]) -> Callable[..., bool]:
    """Return a function that tells whether tensors are like these.

    Types, dtypes, devices, shapes, strides, autograd's and inference mode's marks must
    be the same, and no tensor be given twice. The extents in `dynamic` are free, and
    the strides that follow from them in a contiguous tensor.
    """
    sizes, strides = [], []
    for tensor, free in zip(tensors, dynamic, strict=True):
        sizes.append([None if d in free else n for d, n in enumerate(tensor.shape)])
        strides.append([None if d < max(free, default=0) else n for d, n in enumerate(tensor.stride())])
    return TensorGuards(*tensors, dynamic_dims_sizes=sizes, dynamic_dims_strides=strides).check
