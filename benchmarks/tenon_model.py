# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Call compiled models through the C interface (ctypes), on numpy arrays or torch tensors.

For tests, and for benchmarks on machines that have libtenon_runtime.so and compiled
models but no LLVM. numpy arrays are on the CPU, and one of uint16 holds bfloat16's
bits; torch is needed only for tensors on a GPU. Mirrors include/tenon-c/Model.h.
"""

from __future__ import annotations

import ctypes
import itertools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np

if TYPE_CHECKING:
    import torch

    Tensor = np.ndarray | torch.Tensor

CUDA, CPU = 2, 1  # DLPack's device types
# numpy's type, DLPack's type code, bits
DTYPES = {
    "float32": (np.float32, 2, 32),
    "float16": (np.float16, 2, 16),
    "bfloat16": (np.uint16, 4, 16),
    "float64": (np.float64, 2, 64),
    "float8_e4m3fn": (np.uint8, 10, 8),
    "float8_e5m2": (np.uint8, 12, 8),
}


class DLDevice(ctypes.Structure):
    """DLPack's DLDevice."""

    _fields_: ClassVar[list] = [("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32)]


class DLTensor(ctypes.Structure):
    """DLPack's DLTensor, with its device and type inlined."""

    _fields_: ClassVar[list] = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


def address_of(tensor: Tensor) -> int:
    """Return where a tensor's data begins."""
    if isinstance(tensor, np.ndarray):
        return tensor.ctypes.data
    return tensor.data_ptr()


def dltensor(tensor: Tensor, dtype: str) -> DLTensor:
    """Return a view of `tensor`, which must outlive it; of what NumPy has as bits, as this dtype."""
    name = str(tensor.dtype).removeprefix("torch.")
    if name not in DTYPES and np.dtype(DTYPES[dtype][0]) == tensor.dtype:
        name = dtype
    if isinstance(tensor, np.ndarray):
        device, index = CPU, 0
        strides = [stride // tensor.itemsize for stride in tensor.strides]
    else:
        strides = tensor.stride()
        device, index = (CUDA if tensor.is_cuda else CPU), tensor.device.index or 0
    extents = ctypes.c_int64 * max(len(tensor.shape), 1)
    return DLTensor(
        address_of(tensor),
        device,
        index,
        len(tensor.shape),
        *DTYPES[name][1:],
        1,
        extents(*tensor.shape),
        extents(*strides),
        0,
    )


def filled(size: int, like: Tensor) -> Tensor:
    """Return `size` bytes of 0xFF, NaNs in every type, on the device of `like`."""
    if isinstance(like, np.ndarray):
        return np.full(size, 0xFF, np.uint8)
    import torch

    return torch.full([size], 0xFF, dtype=torch.uint8, device=like.device)


def carve(memory: Tensor, start: int, shape: Sequence[int], dtype: str) -> Tensor:
    """Return a tensor that begins at byte `start` of `memory`."""
    numpy_type, _, bits = DTYPES[dtype]
    size = int(np.prod(shape, dtype=np.int64)) * bits // 8
    part = memory[start : start + size]
    if isinstance(memory, np.ndarray):
        return part.view(numpy_type).reshape(shape)
    import torch

    return part.view(getattr(torch, dtype)).reshape(tuple(shape))


def allocate(shape: Sequence[int], dtype: str, like: Tensor) -> Tensor:
    """Return a tensor of NaNs on the device of `like`, at an address that 256 divides."""
    size = int(np.prod(shape, dtype=np.int64)) * DTYPES[dtype][2] // 8
    memory = filled(size + 256, like)
    return carve(memory, -address_of(memory) % 256, shape, dtype)


def pointers(tensors: list[DLTensor]) -> ctypes.Array:
    """Return an array of pointers to `tensors`."""
    array = (ctypes.POINTER(DLTensor) * max(len(tensors), 1))()
    for i, tensor in enumerate(tensors):
        array[i] = ctypes.pointer(tensor)
    return array


class Model:
    """A compiled model; its functions are called with torch tensors."""

    def __init__(self, path: str | Path, runtime: str | Path) -> None:
        """Open the shared object at `path` with libtenon_runtime at `runtime`."""
        self.lib = ctypes.CDLL(str(runtime), mode=ctypes.RTLD_GLOBAL)
        self.lib.tenonLastError.restype = ctypes.c_char_p
        self.lib.tenonModelManifest.restype = ctypes.c_char_p
        self.handle = ctypes.c_void_p()
        self.check(self.lib.tenonModelOpen(str(path).encode(), ctypes.byref(self.handle)))
        self.manifest = json.loads(self.lib.tenonModelManifest(self.handle))
        self.functions = {f["name"]: f for f in self.manifest["functions"]}

    def check(self, status: int) -> None:
        """Raise RuntimeError with the runtime's message."""
        if status:
            raise RuntimeError(self.lib.tenonLastError().decode())

    def bind(
        self,
        name: str,
        inputs: list[Tensor],
        outputs: list[Tensor] | None = None,
        workspace: Tensor | None = None,
    ) -> Call:
        """Return a call of function `name` with fixed buffers, ready to be repeated."""
        return Call(self, name, inputs, outputs, workspace)

    def output_shapes(self, name: str, inputs: list[Tensor]) -> list[list[int]]:
        """Return the shapes of a function's outputs for these inputs."""
        function = self.functions[name]
        sizes: dict[str, int] = {}
        for tensor, entry in zip(inputs, function["inputs"], strict=True):
            sizes.update(
                (symbol, extent)
                for symbol, extent in zip(entry["shape"], tensor.shape, strict=True)
                if isinstance(symbol, str)
            )
        return [[sizes.get(d, d) for d in o["shape"]] for o in function["outputs"]]

    def views(self, name: str, kind: str, tensors: list[Tensor]) -> list[DLTensor]:
        """Return views of a function's "inputs" or "outputs"; a wrong number of them is for the function to refuse."""
        dtypes = [entry["dtype"] for entry in self.functions[name][kind]]
        known = itertools.chain(dtypes, itertools.repeat(dtypes[-1]))
        return [dltensor(tensor, dtype) for tensor, dtype in zip(tensors, known, strict=False)]

    def workspace_size(self, name: str, inputs: list[Tensor]) -> int:
        """Return the bytes of workspace that a call needs."""
        size = ctypes.c_size_t()
        views = self.views(name, "inputs", inputs)
        self.check(
            self.lib.tenonFunctionWorkspaceSize(self.find(name), pointers(views), len(views), ctypes.byref(size))
        )
        return size.value

    def find(self, name: str) -> ctypes.c_void_p:
        """Return the runtime's handle of a function."""
        function = ctypes.c_void_p()
        self.check(self.lib.tenonModelFunction(self.handle, name.encode(), ctypes.byref(function)))
        return function

    def load(self, device_type: int = CUDA, device_id: int = 0) -> None:
        """Load the model on a device, so that calls there can be captured."""
        device = DLDevice(device_type, device_id)
        self.check(self.lib.tenonModelLoad(self.handle, device))

    def rows_outside(self, device_id: int = 0) -> int:
        """Return how many rows split products of f32 could not hold so far, on a GPU."""
        count = ctypes.c_uint64()
        self.check(self.lib.tenonModelCountRowsOutside(self.handle, DLDevice(CUDA, device_id), ctypes.byref(count)))
        return count.value

    def close(self) -> None:
        """Unload the model; no call may be in flight."""
        self.lib.tenonModelClose(self.handle)


class Call:
    """One function with its tensors; outputs and workspace are allocated if not given."""

    def __init__(
        self,
        model: Model,
        name: str,
        inputs: list[Tensor],
        outputs: list[Tensor] | None = None,
        workspace: Tensor | None = None,
    ) -> None:
        """Describe the tensors once, so that a call only passes pointers."""
        self.model, self.inputs = model, inputs
        if outputs is None:
            dtypes = [entry["dtype"] for entry in model.functions[name]["outputs"]]
            shapes = model.output_shapes(name, inputs)
            outputs = [allocate(shape, dtype, inputs[0]) for shape, dtype in zip(shapes, dtypes, strict=True)]
        if workspace is None:
            # In elements of 8 bytes; the runtime wants bytes.
            size = (model.workspace_size(name, inputs) + 7) // 8
            workspace = allocate([size], "float64", inputs[0])
        self.outputs, self.workspace = outputs, workspace
        self.views = model.views(name, "inputs", inputs), model.views(name, "outputs", outputs)
        self.arguments = (
            model.find(name),
            pointers(self.views[0]),
            ctypes.c_int32(len(inputs)),
            pointers(self.views[1]),
            ctypes.c_int32(len(outputs)),
            ctypes.c_void_p(address_of(workspace)),
            ctypes.c_size_t(workspace.nbytes),
        )
        self.run = model.lib.tenonFunctionRun
        self.current_stream = None
        if not isinstance(workspace, np.ndarray) and workspace.is_cuda:
            import torch

            self.current_stream = torch.cuda.current_stream

    def enqueue(self, stream: ctypes.c_void_p) -> None:
        """Run the function on `stream`: the C call and nothing else."""
        status = self.run(*self.arguments, stream)
        if status:
            self.model.check(status)

    def __call__(self) -> list[Tensor]:
        """Enqueue the call on the current stream."""
        stream = self.current_stream().cuda_stream if self.current_stream else 0
        self.enqueue(ctypes.c_void_p(stream))
        return self.outputs
