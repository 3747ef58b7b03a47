# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What must hold for a captured graph to be what a module's forward would do now."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence

import torch
from torch._C import _functorch
from torch._C import _get_tracing_state as tracing_state
from torch._C import _len_torch_dispatch_stack as dispatch_modes
from torch._C import _len_torch_function_stack as function_modes
from torch._C._dynamo.guards import GlobalStateGuard, TensorGuards
from torch.autograd import forward_ad

from tenon._native import Guard
from tenon.torch.modules.reads import Impure, Reads
from tenon.torch.precision import float32_matmul_precision

_interpreters = _functorch.peek_interpreter_stack
# Of how many calls it is remembered where their tensors were.
_MOST_KNOWN = 64
# Tensors that are nothing else: subclasses may give operations a meaning of their own.
TENSOR_TYPES = frozenset({torch.Tensor, torch.nn.Parameter})


# What else a tensor may be: zeros without memory, or another tensor's wrapper.
_SPECIAL = [
    getattr(torch._C.DispatchKey, name)
    for name in ("ZeroTensor", "Functionalize", "FuncTorchBatched", "FuncTorchGradWrapper", "Python")
]


def is_plain_tensor(tensor: torch.Tensor) -> bool:
    """Tell whether a tensor is elements in memory: not sparse, nested, mkldnn's, quantized, a wrapper or a subclass.

    PyTorch's guards see no others: to ask for strides where there are none ends the process.
    """
    if type(tensor) not in TENSOR_TYPES:
        return False
    keys = torch._C._dispatch_keys(tensor)
    return keys.has(torch._C.DispatchKey.Dense) and not any(map(keys.has, _SPECIAL))


def check_plain(tensors: Iterable[torch.Tensor]) -> None:
    """Raise Impure unless all tensors are plain ones."""
    if not all(map(is_plain_tensor, tensors)):
        raise Impure("a tensor is sparse, nested, without memory, or of a subclass of torch.Tensor")


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
        self._precision = float32_matmul_precision()
        self.key = (state.__getstate__(), self._precision, torch.is_inference_mode_enabled())
        self.autocast = torch._C._is_any_autocast_enabled()

    def holds(self) -> bool:
        """Tell whether the state is as it was. Of inference mode the tensors tell."""
        return self._check() and float32_matmul_precision() == self._precision


def guard_tree(reads: Reads) -> Guard:
    """Return a function that gives the tensors that were read as they are now, None if anything else changed."""
    results, _ = reads.unique_tensors()  # first: it adds items
    return Guard(
        items=reads.items.values(),
        absent=reads.absent.values(),
        attributes=reads.attributes.values(),
        sizes=reads.sizes.values(),
        results=results,
        admits=is_plain_tensor,
    )


def guard_apart(
    tensors: Sequence[torch.Tensor], dynamic: Sequence[frozenset[int]], changed: Collection[int]
) -> Callable[[Sequence[torch.Tensor]], bool]:
    """Return a function that tells whether none of `changed` shares memory with another tensor.

    Its tensors must be like these, as `guard_tensors` tells.

    Raises:
        Impure: a tensor is changed that may share memory with itself, or one has none to compare.

    """
    if any(t.layout is not torch.strided or t.is_conj() or t.is_neg() for t in tensors):
        raise Impure("it changes tensors in place and has one with a layout of its own")
    if any(torch._debug_has_internal_overlap(tensors[i]) for i in changed):
        raise Impure("it changes a tensor in place whose elements may share memory")
    spans = [_span(t) for t in tensors]
    extents = [i for i, free in enumerate(dynamic) if free]  # these are contiguous
    known: set[tuple[int, ...]] = set()

    def apart(tensors: Sequence[torch.Tensor]) -> bool:
        begins = tuple(map(torch.Tensor.data_ptr, tensors))
        key = (*begins, *[tensors[i].nbytes for i in extents]) if extents else begins
        if key in known:
            return True
        now = [t.nbytes if free else span for t, free, span in zip(tensors, dynamic, spans, strict=True)]
        if _any_overlap(begins, now, changed):
            return False
        if len(known) == _MOST_KNOWN:
            known.clear()
        known.add(key)
        return True

    return apart


def _span(tensor: torch.Tensor) -> int:
    """Return how many bytes from a tensor's first element to its last one's end."""
    last = sum((n - 1) * stride for n, stride in zip(tensor.shape, tensor.stride(), strict=True))
    return (last + 1) * tensor.itemsize if tensor.numel() else 0


def _any_overlap(begins: Sequence[int], spans: Sequence[int], changed: Collection[int]) -> bool:
    end = end_of_changed = 0
    for begin, i in sorted((begin, i) for i, begin in enumerate(begins) if spans[i]):
        if begin < (end if i in changed else end_of_changed):
            return True
        end = max(end, begin + spans[i])
        if i in changed:
            end_of_changed = max(end_of_changed, begin + spans[i])
    return False


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
