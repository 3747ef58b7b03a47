# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arrays of other libraries: NumPy, PyTorch, CuPy, JAX, and what else speaks DLPack.

A library is imported only when one of its arrays is met. A library's adapter looks at
arrays as views, allocates results, and knows the caller's current stream.
"""

from __future__ import annotations

import functools
import importlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tenon import device as devices
from tenon.dtypes import DATA_TYPES
from tenon.errors import ArgumentError, UnsupportedError

Device = tuple[int, int]  # DLPack's device type and number
ALIGNMENT = 256  # of workspaces


@dataclass(slots=True)
class View:
    """An array's contiguous memory; `array` keeps it alive."""

    array: Any
    pointer: int
    dtype: str
    shape: tuple[int, ...]
    device: Device


def device_name(device: Device) -> str:
    """Return "cpu" or "cuda:0"."""
    return "cpu" if device[0] == devices.CPU else f"cuda:{device[1]}"


class Adapter:
    """What Tenon needs of an array library."""

    def view(self, array: Any) -> View:
        """Return a view of `array`, or of a contiguous copy on its device; raises ArgumentError."""
        raise NotImplementedError

    def empty(self, shape: Sequence[int], dtype: str, device: Device) -> View:
        """Return a new array with arbitrary values."""
        raise NotImplementedError

    def workspace(self, size: int, device: Device) -> View:
        """Return at least `size` bytes, aligned to 256."""
        memory = self.empty([math.ceil((size + ALIGNMENT) / 4)], "float32", device)  # JAX halves float64
        memory.pointer += -memory.pointer % ALIGNMENT
        return memory

    def hidden(self, shape: Sequence[int], dtype: str, device: Device) -> View:
        """Return memory of a tensor that the caller does not see: the library need not know its dtype."""
        memory = self.workspace(math.prod(shape) * DATA_TYPES[dtype].bytes, device)
        return View(memory.array, memory.pointer, dtype, tuple(shape), device)

    def stream(self, device: Device) -> int:
        """Return the caller's current stream as a CUstream, 0 on the CPU."""
        return 0

    def finish(self, views: Sequence[View], device: Device) -> list[Any]:
        """Return results, of a call that has been enqueued, as the library's arrays."""
        return [view.array for view in views]


class NumPy(Adapter):
    """NumPy's arrays, and whatever NumPy can look at through DLPack."""

    def view(self, array: Any) -> View:
        """Look at the array's memory."""
        if not isinstance(array, np.ndarray | np.generic):
            array = self._import(array)
        if not isinstance(array, np.ndarray) or not (array.flags.c_contiguous and array.flags.aligned):
            array = np.require(array, requirements=["C", "A"])
        pointer = array.__array_interface__["data"][0]
        return View(array, pointer, self._name(array.dtype), array.shape, (devices.CPU, 0))

    def empty(self, shape: Sequence[int], dtype: str, device: Device) -> View:
        """Allocate an array."""
        self._need_cpu(device)
        array = np.empty(shape, self._dtype(dtype))
        return View(array, array.__array_interface__["data"][0], dtype, array.shape, device)

    @staticmethod
    def _need_cpu(device: Device) -> None:
        if device[0] != devices.CPU:
            raise ArgumentError(f"NumPy has no arrays on {device_name(device)}, where the other inputs are")

    @staticmethod
    def _import(array: Any) -> np.ndarray[Any, Any]:
        name = type(array).__qualname__
        if not hasattr(array, "__dlpack__"):
            raise ArgumentError(
                f"expected an array (NumPy, PyTorch, CuPy, JAX, or any with __dlpack__), but got {name}"
            )
        if array.__dlpack_device__()[0] != devices.CPU:
            raise ArgumentError(f"a {name} on a GPU is not supported; pass it as a PyTorch or CuPy array")
        try:
            return np.from_dlpack(array)
        except (BufferError, RuntimeError, TypeError, ValueError) as error:
            raise ArgumentError(f"NumPy cannot look at this {name}: {error}") from error

    @staticmethod
    @functools.cache
    def _name(dtype: np.dtype[Any]) -> str:
        return dtype.name if dtype.isnative else f"byte-swapped {dtype.name}"

    @staticmethod
    @functools.cache
    def _dtype(name: str) -> np.dtype[Any]:
        if hasattr(np, name):
            return np.dtype(name)
        try:
            result: np.dtype[Any] = np.dtype(getattr(importlib.import_module("ml_dtypes"), name))
        except ImportError as error:
            raise UnsupportedError(
                f"NumPy has no {name} of its own: install ml_dtypes, or pass PyTorch tensors"
            ) from error
        return result


class PyTorch(Adapter):
    """PyTorch's tensors."""

    def __init__(self) -> None:
        """Import the library."""
        self.torch: Any = importlib.import_module("torch")

    def view(self, array: Any) -> View:
        """Look at the array's memory."""
        torch = self.torch
        if not isinstance(array, torch.Tensor):
            raise ArgumentError(f"expected a tensor, but got {type(array).__qualname__}")
        if array.layout is not torch.strided:
            raise ArgumentError(f"expected a dense tensor, but got layout {array.layout}")
        if array.requires_grad and torch.is_grad_enabled():
            raise ArgumentError(
                "expected a tensor that needs no gradient: Tenon computes none; use tensor.detach() or torch.no_grad()"
            )
        if array.device.type not in ("cpu", "cuda"):
            raise ArgumentError(f"expected a tensor on cpu or cuda, but got one on {array.device}")
        if array.is_nested:
            raise ArgumentError("expected a dense tensor, but got a nested one")
        array = array.detach().resolve_neg().contiguous()
        if array._is_zerotensor():  # zeros that have no memory, as forward-mode autograd makes them
            array = array.clone()
        where = (devices.CUDA, array.device.index) if array.is_cuda else (devices.CPU, 0)
        return View(array, array.data_ptr(), str(array.dtype).removeprefix("torch."), tuple(array.shape), where)

    def empty(self, shape: Sequence[int], dtype: str, device: Device) -> View:
        """Allocate an array."""
        array = self.torch.empty(shape, dtype=getattr(self.torch, dtype), device=device_name(device))
        return View(array, array.data_ptr(), dtype, tuple(shape), device)

    def stream(self, device: Device) -> int:
        """Return the library's current stream."""
        return int(self.torch.cuda.current_stream(device[1]).cuda_stream) if device[0] == devices.CUDA else 0


class CuPy(Adapter):
    """CuPy's arrays."""

    def __init__(self) -> None:
        """Import the library."""
        self.cupy: Any = importlib.import_module("cupy")

    def view(self, array: Any) -> View:
        """Look at the array's memory."""
        array = self.cupy.ascontiguousarray(array).reshape(array.shape)
        return View(array, array.data.ptr, array.dtype.name, array.shape, (devices.CUDA, array.device.id))

    def empty(self, shape: Sequence[int], dtype: str, device: Device) -> View:
        """Allocate an array."""
        with self.cupy.cuda.Device(device[1]):
            array = self.cupy.empty(shape, NumPy._dtype(dtype))
        return View(array, array.data.ptr, dtype, array.shape, device)

    def stream(self, device: Device) -> int:
        """Return the library's current stream."""
        return int(self.cupy.cuda.get_current_stream(device[1]).ptr)


class Jax(Adapter):
    """JAX's arrays. JAX keeps its streams to itself, so on a GPU a call waits before and after.

    Results are computed into NumPy's memory on the CPU, and into a new array's on a GPU.
    """

    def __init__(self) -> None:
        """Import the library."""
        self.jax: Any = importlib.import_module("jax")
        self.numpy = NumPy()

    def view(self, array: Any) -> View:
        """Look at the array's memory."""
        if isinstance(array, self.jax.core.Tracer):
            raise ArgumentError("expected a JAX array, but got a tracer: call the model outside of jax.jit")
        (where,) = array.devices()
        if where.platform == "cpu":
            return self.numpy.view(np.asarray(array))
        array.block_until_ready()
        ordinal = where.local_hardware_id
        return View(array, array.unsafe_buffer_pointer(), array.dtype.name, array.shape, (devices.CUDA, ordinal))

    def empty(self, shape: Sequence[int], dtype: str, device: Device) -> View:
        """Allocate an array."""
        if device[0] == devices.CPU:
            return self.numpy.empty(shape, dtype, device)
        where = next(d for d in self.jax.local_devices(backend="gpu") if d.local_hardware_id == device[1])
        array = self.jax.device_put(np.zeros(shape, NumPy._dtype(dtype)), where).block_until_ready()
        return View(array, array.unsafe_buffer_pointer(), dtype, array.shape, device)

    def finish(self, views: Sequence[View], device: Device) -> list[Any]:
        """Wait, and return JAX's arrays."""
        if device[0] == devices.CPU:
            return [self.jax.numpy.asarray(view.array) for view in views]
        devices.synchronize(device[1])
        return [view.array for view in views]


_ADAPTERS = {"numpy": NumPy, "torch": PyTorch, "cupy": CuPy, "jaxlib": Jax, "jax": Jax}


@functools.cache
def _library(root: str) -> Adapter:
    return _ADAPTERS[root]()


_of_types: dict[type[Any], Adapter] = {}


def adapter_of(array: Any) -> Adapter:
    """Return the adapter of the library that `array` belongs to; NumPy's for all unknown ones."""
    kind = type(array)
    if kind not in _of_types:
        roots = [base.__module__.partition(".")[0] for base in kind.__mro__]
        _of_types[kind] = _library(next((root for root in roots if root in _ADAPTERS), "numpy"))
    return _of_types[kind]
