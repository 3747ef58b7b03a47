# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls one function of a compiled model on PyTorch's tensors.

What a call costs is counted in microseconds: all that can be known before it is worked
out in the constructor.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch

from tenon import _native
from tenon import device as devices
from tenon.arrays import ALIGNMENT

if TYPE_CHECKING:
    from tenon import Executable

Allocate = Callable[[Sequence[int], torch.dtype], torch.Tensor]


class Launch:
    """A function of a model on one device: `index` of a CUDA device, -1 for the CPU."""

    def __init__(self, executable: Executable, name: str, index: int) -> None:
        """Load the model on the device and find function `name`."""
        device = (devices.CPU, 0) if index < 0 else (devices.CUDA, index)
        executable.model.load(*device)
        self._launcher = executable.model.function(name).launcher(*device)
        self.description: dict[str, Any] = next(f for f in executable.manifest["functions"] if f["name"] == name)
        self._index = index
        self._extents = self._find_symbols()
        self._allocate = allocator(index)
        self._padding = ALIGNMENT if index < 0 else 0  # memory on a GPU is aligned so

    def _find_symbols(self) -> list[tuple[int, int]]:
        """Return an input, and the product of its static extents, for each symbol."""
        found = {}
        for i, tensor in enumerate(self.description["inputs"]):
            shape = tensor["shape"]
            if shape and isinstance(shape[0], str):
                found.setdefault(shape[0], (i, math.prod(shape[1:])))
        return [found[symbol] for symbol in self._launcher.symbols]

    def __call__(self, inputs: Sequence[torch.Tensor], outputs: Sequence[torch.Tensor], stream: int) -> None:
        """Run on contiguous tensors; rows are all dimensions but the last."""
        extents = tuple([inputs[i].numel() // width for i, width in self._extents]) if self._extents else ()
        size = self._launcher.workspace_bytes(extents)
        address = 0
        if size:
            # Freed at once, but PyTorch gives it out again only behind this call's work.
            workspace = self._allocate((size + self._padding,), torch.uint8)
            address = -(-workspace.data_ptr() // ALIGNMENT) * ALIGNMENT
        pointers = [t.data_ptr() for t in inputs]
        if 0 in pointers:  # an empty tensor, or zeros that have no memory, as forward-mode autograd makes them
            inputs = [t.clone() if t._is_zerotensor() else t for t in inputs]
            pointers = [t.data_ptr() for t in inputs]
        pointers += [t.data_ptr() for t in outputs]
        self._launcher(pointers, extents, address, size, stream)

    def bind_op(self, text: str, num_inputs: int, sources: list[int], parameters: list[int]) -> None:
        """Have the kernel of `torch.ops.tenon.fused` do what a call does.

        Input i is the op's input sources[i], or, counted from `num_inputs` on, what is made of the op's inputs
        `parameters`.
        """
        _native.bind_op(text, self._index, self._launcher, num_inputs, sources, parameters, self._extents)

    def make_outputs(self) -> list[torch.Tensor]:
        """Return new outputs of a function whose shapes are all static."""
        return [self._allocate(o["shape"], getattr(torch, o["dtype"])) for o in self.description["outputs"]]


def allocator(index: int) -> Allocate:
    """Return a function that gives uninitialised contiguous tensors on a device."""
    if index < 0:
        return lambda shape, dtype: torch.empty(shape, dtype=dtype)
    device = torch.device("cuda", index)
    # A third of the time that torch.empty takes; Inductor's code allocates so too.
    quick = torch._C._dynamo.guards._empty_strided_cuda
    current = torch._C._cuda_getDevice

    def allocate(shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
        if current() != index:
            return torch.empty(shape, dtype=dtype, device=device)
        if len(shape) == 2:
            return quick(tuple(shape), (shape[1], 1), dtype)
        return quick(tuple(shape), tuple([math.prod(shape[d + 1 :]) for d in range(len(shape))]), dtype)

    return allocate


def stream_getter(index: int) -> Callable[[], int]:
    """Return a function that gives PyTorch's current stream on a device."""
    if index < 0:
        return lambda: 0
    get = torch._C._cuda_getCurrentRawStream
    return lambda: get(index)
