# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Launches of kernels on NumPy arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from . import access, barriers, bits, comparisons, conversions, copies, floats, integers, matrices, warps
from .grid import Grid, TensorMap
from .memory import GlobalMemory
from .parser import parse
from .program import Module, PtxError

# Importing them enters their instructions.
FAMILIES = (access, barriers, bits, comparisons, conversions, copies, floats, integers, matrices, warps)


@dataclass
class Buffer:
    """An array in global memory."""

    address: int
    dtype: np.dtype
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        return int(np.prod(self.shape)) * np.dtype(self.dtype).itemsize


@dataclass
class Map:
    """A tensor map to encode: a matrix, a box of it, the swizzle in bytes."""

    buffer: Buffer
    box: tuple[int, int]
    swizzle: int
    rounds_tf32: bool = False


class Device:
    """Global memory, and the kernels of PTX modules."""

    def __init__(self, ptx: str, memory_bytes: int = 1 << 26) -> None:
        self.module: Module = parse(ptx)
        self.memory = GlobalMemory(memory_bytes)
        self.variables: dict[str, int] = {}
        self.executed = 0
        self.seed: int | None = None  # of a random order of warps
        self.late: int | None = None  # a block whose warps that multiply run when nothing comes of all others
        self.poisons = False  # loads of unwritten shared memory give NaN, and are no errors
        for variable in self.module.variables.values():
            if variable.space in ("global", "const"):
                address = self.memory.allocate(variable.size)
                self.memory.write(address, np.frombuffer(variable.initial, np.uint8))
                self.variables[variable.name] = address

    def put(self, array: np.ndarray, shift: int = 0) -> Buffer:
        """Copy an array to memory, `shift` bytes beyond an aligned address."""
        buffer = self.empty(array.shape, array.dtype, shift)
        self.memory.write(buffer.address, array)
        return buffer

    def empty(self, shape: Sequence[int], dtype: object, shift: int = 0) -> Buffer:
        """Allocate what nobody has written."""
        shape, dtype = tuple(shape), np.dtype(dtype)
        size = int(np.prod(shape)) * dtype.itemsize
        return Buffer(self.memory.allocate(size, shift), dtype, shape)

    def get(self, buffer: Buffer) -> np.ndarray:
        """Copy a buffer from memory; all of it must have been written."""
        content, written = self.memory.read(buffer.address, buffer.size)
        if not written.all():
            first = int(np.flatnonzero(~written)[0]) // np.dtype(buffer.dtype).itemsize
            at = np.unravel_index(first, buffer.shape)
            count = int((~written).sum())
            raise PtxError(f"{count} of {buffer.size} bytes of a result were never written, first at {at}")
        return content.view(buffer.dtype).reshape(buffer.shape)

    def variable(self, name: str, dtype: object) -> np.ndarray:
        """Return what a module's variable holds."""
        variable = self.module.variables[name]
        return self.memory.read(self.variables[name], variable.size)[0].view(dtype)

    def launch(
        self, name: str, blocks: int, arguments: Sequence, threads: int = 0, shared_bytes: int = 0, cluster: int = 1
    ) -> None:
        """Run a kernel of `blocks` blocks; arguments are Buffers, Maps and NumPy scalars."""
        if name not in self.module.kernels:
            raise PtxError(f"there is no kernel {name}; there are {', '.join(self.module.kernels)}")
        kernel = self.module.kernels[name]
        grid = Grid(self.module, kernel, self.memory, blocks, threads or kernel.threads)
        if kernel.threads not in (0, grid.threads) or blocks % cluster:
            raise PtxError(f"{name} is for {kernel.threads} threads, and whole clusters")
        grid.cluster, grid.dynamic_bytes = cluster, shared_bytes
        grid.symbols.update(self.variables)
        grid.poisons, grid.late = self.poisons, self.late
        if self.seed is not None:
            grid.shuffle(self.seed)
        grid.set_parameters([self.encode(argument) for argument in arguments])
        grid.run()
        self.executed += sum(unit.executed for block in grid.blocks for unit in block.units)

    def encode(self, argument: object) -> np.ndarray | TensorMap:
        if isinstance(argument, Buffer):
            return np.array([argument.address], np.uint64).view(np.uint8)
        if isinstance(argument, Map):
            rows, columns = argument.buffer.shape
            if argument.buffer.address % 16 or columns * np.dtype(argument.buffer.dtype).itemsize % 16:
                raise PtxError("a tensor map's matrix and its rows must be multiples of 16 bytes")
            return TensorMap(
                argument.buffer.address,
                rows,
                columns,
                argument.buffer.dtype,
                argument.box,
                argument.swizzle,
                argument.rounds_tf32,
            )
        return np.array([argument]).view(np.uint8)
