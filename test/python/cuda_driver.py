# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What tests ask of CUDA's driver beside PyTorch: memory with nothing behind it, and a kernel that only takes room."""

from __future__ import annotations

import ctypes
from typing import ClassVar

import pytest
import torch
from tenon import device
from tenon_graphs.memory import Guarded

NOT_SUPPORTED = 801  # CUDA_ERROR_NOT_SUPPORTED
DEVICE_MEMORY, READ_AND_WRITE = 1, 3  # of cuMemCreate and cuMemSetAccess
MAX_DYNAMIC_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES

# Each block ends `nanoseconds` after it began.
SPIN = b"""
.version 7.0
.target sm_80
.address_size 64
.visible .entry spin(.param .u64 nanoseconds) {
  .reg .u64 %rd<4>;
  .reg .pred %p;
  ld.param.u64 %rd0, [nanoseconds];
  mov.u64 %rd1, %globaltimer;
AGAIN:
  mov.u64 %rd2, %globaltimer;
  sub.u64 %rd2, %rd2, %rd1;
  setp.lt.u64 %p, %rd2, %rd0;
  @%p bra AGAIN;
  ret;
}
"""


class _Location(ctypes.Structure):
    _fields_: ClassVar[list] = [("type", ctypes.c_int), ("id", ctypes.c_int)]


class _Properties(ctypes.Structure):
    """CUmemAllocationProp."""

    _fields_: ClassVar[list] = [
        ("type", ctypes.c_int),
        ("handles", ctypes.c_int),
        ("location", _Location),
        ("win32", ctypes.c_void_p),
        ("flags", ctypes.c_ubyte * 8),
    ]


class _Access(ctypes.Structure):
    """CUmemAccessDesc."""

    _fields_: ClassVar[list] = [("location", _Location), ("flags", ctypes.c_int)]


class Driver:
    """The driver's functions, in PyTorch's context."""

    def __init__(self) -> None:
        torch.zeros(1, device="cuda")  # makes the context
        self.lib = device.driver()

    def call(self, name: str, *arguments: object) -> None:
        status = getattr(self.lib, name)(*arguments)
        if status == NOT_SUPPORTED:
            pytest.skip(f"this machine's driver has no {name}")
        assert status == 0, f"{name} failed with CUresult {status}"


class _Bytes:
    """Device memory as PyTorch takes it."""

    def __init__(self, address: int, size: int) -> None:
        self.__cuda_array_interface__ = {"shape": (size,), "typestr": "|u1", "data": (address, False), "version": 3}


class LonelyMemory(Guarded):
    """Memory whose tensors end (`at_end`) or begin where nothing is mapped: touching that ends the context.

    Use it in `with`, which gives the memory back.
    """

    def __init__(self, at_end: bool) -> None:
        super().__init__()
        self.at_end, self.driver = at_end, Driver()
        self.mapped: list[tuple[ctypes.c_uint64, int, ctypes.c_uint64, int]] = []
        self.location = _Location(DEVICE_MEMORY, torch.cuda.current_device())
        self.properties = _Properties(DEVICE_MEMORY, 0, self.location)
        granularity = ctypes.c_size_t()
        self.driver.call("cuMemGetAllocationGranularity", ctypes.byref(granularity), ctypes.byref(self.properties), 0)
        self.granularity = granularity.value

    def __enter__(self) -> LonelyMemory:
        return self

    def __exit__(self, *_: object) -> None:
        torch.cuda.synchronize()
        self.blocks, self.copies = [], []
        for base, reserved, handle, size in self.mapped:
            self.driver.call("cuMemUnmap", ctypes.c_uint64(base.value + self.granularity), ctypes.c_size_t(size))
            self.driver.call("cuMemAddressFree", base, ctypes.c_size_t(reserved))
            self.driver.call("cuMemRelease", handle)

    def map_alone(self, size: int) -> torch.Tensor:
        """Map memory for `size` bytes with reserved addresses on either side."""
        step = self.granularity
        size = (size + step - 1) // step * step or step
        base, handle, reserved = ctypes.c_uint64(), ctypes.c_uint64(), size + 2 * step
        none, call = ctypes.c_uint64(0), self.driver.call
        call("cuMemAddressReserve", ctypes.byref(base), ctypes.c_size_t(reserved), ctypes.c_size_t(0), none, none)
        call("cuMemCreate", ctypes.byref(handle), ctypes.c_size_t(size), ctypes.byref(self.properties), none)
        start = ctypes.c_uint64(base.value + step)
        call("cuMemMap", start, ctypes.c_size_t(size), ctypes.c_size_t(0), handle, none)
        access = _Access(self.location, READ_AND_WRITE)
        call("cuMemSetAccess", start, ctypes.c_size_t(size), ctypes.byref(access), ctypes.c_size_t(1))
        self.mapped.append((base, reserved, handle, size))
        return torch.as_tensor(_Bytes(start.value, size), device="cuda").fill_(0xFF)

    def cut(self, size: int, like: torch.Tensor, shift_bytes: int) -> tuple[torch.Tensor, int]:
        memory = self.map_alone(size)
        start = memory.numel() - size if self.at_end else 0
        self.blocks.append((memory, start, size))
        return memory, start

    def allocate_bytes(self, size: int, like: torch.Tensor) -> torch.Tensor:
        """Return a workspace: its size is rounded up, since it must be aligned."""
        return super().allocate_bytes((size + 255) // 256 * 256, like)


class Spinner:
    """A kernel that holds multiprocessors for a time."""

    def __init__(self) -> None:
        self.driver = Driver()
        module, self.function = ctypes.c_void_p(), ctypes.c_void_p()
        self.driver.call("cuModuleLoadData", ctypes.byref(module), SPIN.strip())
        self.driver.call("cuModuleGetFunction", ctypes.byref(self.function), module, b"spin")
        limits = torch.cuda.get_device_properties(torch.cuda.current_device())
        self.shared, self.multiprocessors = limits.shared_memory_per_block_optin, limits.multi_processor_count
        self.driver.call("cuFuncSetAttribute", self.function, MAX_DYNAMIC_SHARED, ctypes.c_int(self.shared))

    def start(self, multiprocessors: int, seconds: float, stream: torch.cuda.Stream) -> None:
        """Take all shared memory of so many multiprocessors."""
        duration = ctypes.c_uint64(int(seconds * 1e9))
        arguments = (ctypes.c_void_p * 1)(ctypes.addressof(duration))
        sizes = (multiprocessors, 1, 1, 32, 1, 1, self.shared)
        queue = ctypes.c_void_p(stream.cuda_stream)
        self.driver.call("cuLaunchKernel", self.function, *map(ctypes.c_uint, sizes), queue, arguments, None)
