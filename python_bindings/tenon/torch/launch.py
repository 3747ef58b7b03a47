# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls one function of a compiled model on PyTorch's tensors.

What a call costs is counted in microseconds: all that can be known before it is worked
out in the constructor.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch

from tenon import device as devices

if TYPE_CHECKING:
    from tenon import Executable

# The runtime wants workspace aligned so; memory on a GPU is, on the CPU may not be.
_ALIGNMENT = 256


class Launch:
    """A function of a model on one device: `index` of a CUDA device, -1 for the CPU."""

    def __init__(self, executable: Executable, name: str, index: int) -> None:
        """Load the model on the device and find function `name`."""
        self.device = torch.device("cpu") if index < 0 else torch.device("cuda", index)
        device = (devices.CPU, 0) if index < 0 else (devices.CUDA, index)
        executable.load(*device)
        self._launcher = executable.model.function(name).launcher(*device)
        self.description: dict[str, Any] = next(f for f in executable.manifest["functions"] if f["name"] == name)
        self._extents = self._find_symbols()
        self._outputs = [
            (tuple(output["shape"]), getattr(torch, output["dtype"])) for output in self.description["outputs"]
        ]
        self._padding = _ALIGNMENT if index < 0 else 0

    def _find_symbols(self) -> list[tuple[int, int]]:
        """Return an input, and the product of its static extents, for each symbol."""
        found = {}
        for i, tensor in enumerate(self.description["inputs"]):
            shape = tensor["shape"]
            if shape and isinstance(shape[0], str):
                found.setdefault(shape[0], (i, shape[1]))
        return [found[symbol] for symbol in self._launcher.symbols]

    def extents(self, inputs: Sequence[torch.Tensor]) -> tuple[int, ...]:
        """Return the values of the symbols: rows, all dimensions but the last."""
        return tuple([inputs[i].numel() // width for i, width in self._extents])

    def into(self, tensors: Sequence[torch.Tensor], extents: tuple[int, ...], stream: int) -> None:
        """Run on `tensors`, contiguous inputs and then outputs."""
        size = self._launcher.workspace_bytes(extents)
        address = 0
        if size:
            # Freed at once, but PyTorch gives it out again only behind this call's work.
            workspace = torch.empty(size + self._padding, dtype=torch.uint8, device=self.device)
            address = -(-workspace.data_ptr() // _ALIGNMENT) * _ALIGNMENT
        self._launcher([t.data_ptr() for t in tensors], extents, address, size, stream)

    def __call__(
        self, inputs: list[torch.Tensor], stream: int, outputs: list[torch.Tensor] | None = None
    ) -> list[torch.Tensor]:
        """Run a function of static shapes on contiguous inputs; return the outputs."""
        if outputs is None:
            outputs = [torch.empty(shape, dtype=dtype, device=self.device) for shape, dtype in self._outputs]
        self.into([*inputs, *outputs], (), stream)
        return outputs


def stream_getter(index: int) -> Callable[[], int]:
    """Return a function that gives PyTorch's current stream on a device."""
    if index < 0:
        return lambda: 0
    get = torch._C._cuda_getCurrentRawStream
    return lambda: get(index)
