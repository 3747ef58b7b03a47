# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls compiled models from PyTorch through the C interface (ctypes).

For benchmarks and GPU tests on machines that have libtenon_runtime.so and
compiled models but no LLVM. Needs torch; mirrors include/tenon-c/Model.h.
"""

from __future__ import annotations

import ctypes
import json
from pathlib import Path

import torch

CUDA, CPU = 2, 1  # DLPack's device types
FLOAT, BFLOAT = 2, 4  # DLPack's type codes
DTYPES = {
    "float32": (torch.float32, FLOAT, 32),
    "float16": (torch.float16, FLOAT, 16),
    "bfloat16": (torch.bfloat16, BFLOAT, 16),
    "float64": (torch.float64, FLOAT, 64),
}
CODES = {dtype: (code, bits) for dtype, code, bits in DTYPES.values()}


class DLTensor(ctypes.Structure):
    """DLPack's DLTensor, with its device and type inlined."""

    _fields_ = [
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


def dltensor(tensor: torch.Tensor) -> DLTensor:
    """A view of `tensor`, which must outlive it."""
    code, bits = CODES[tensor.dtype]
    rank = tensor.dim()
    view = DLTensor(
        tensor.data_ptr(),
        CUDA if tensor.is_cuda else CPU,
        tensor.device.index or 0,
        rank,
        code,
        bits,
        1,
        (ctypes.c_int64 * max(rank, 1))(*tensor.shape),
        (ctypes.c_int64 * max(rank, 1))(*tensor.stride()),
        0,
    )
    return view


def pointers(tensors: list[DLTensor]) -> ctypes.Array:
    """An array of pointers to `tensors`."""
    array = (ctypes.POINTER(DLTensor) * max(len(tensors), 1))()
    for i, tensor in enumerate(tensors):
        array[i] = ctypes.pointer(tensor)
    return array


class Model:
    """A compiled model; its functions are called with torch tensors."""

    def __init__(self, path: str | Path, runtime: str | Path) -> None:
        self.lib = ctypes.CDLL(str(runtime), mode=ctypes.RTLD_GLOBAL)
        self.lib.tenonLastError.restype = ctypes.c_char_p
        self.lib.tenonModelManifest.restype = ctypes.c_char_p
        self.handle = ctypes.c_void_p()
        self.check(
            self.lib.tenonModelOpen(str(path).encode(), ctypes.byref(self.handle))
        )
        self.manifest = json.loads(self.lib.tenonModelManifest(self.handle))
        self.functions = {f["name"]: f for f in self.manifest["functions"]}

    def check(self, status: int) -> None:
        """Raises RuntimeError with the runtime's message."""
        if status:
            raise RuntimeError(self.lib.tenonLastError().decode())

    def bind(
        self,
        name: str,
        inputs: list[torch.Tensor],
        outputs: list[torch.Tensor] | None = None,
    ) -> "Call":
        """A call of function `name` with fixed buffers, ready to be repeated."""
        return Call(self, name, inputs, outputs)


class Call:
    """One function with its tensors; `outputs` are allocated if not given."""

    def __init__(self, model, name, inputs, outputs) -> None:
        self.model, self.inputs = model, inputs
        function = model.functions[name]
        self.function = ctypes.c_void_p()
        lib = model.lib
        model.check(
            lib.tenonModelFunction(
                model.handle, name.encode(), ctypes.byref(self.function)
            )
        )
        device = inputs[0].device
        if outputs is None:
            sizes: dict[str, int] = {}
            for tensor, entry in zip(inputs, function["inputs"]):
                sizes.update(
                    (symbol, extent)
                    for symbol, extent in zip(entry["shape"], tensor.shape)
                    if isinstance(symbol, str)
                )
            outputs = [
                torch.full(
                    [sizes.get(d, d) for d in entry["shape"]],
                    float("nan"),
                    dtype=DTYPES[entry["dtype"]][0],
                    device=device,
                )
                for entry in function["outputs"]
            ]
        self.outputs = outputs
        self.views = [dltensor(t) for t in inputs], [dltensor(t) for t in outputs]
        ins, outs = pointers(self.views[0]), pointers(self.views[1])
        size = ctypes.c_size_t()
        model.check(
            lib.tenonFunctionWorkspaceSize(
                self.function, ins, len(inputs), ctypes.byref(size)
            )
        )
        # torch aligns host memory to 64 bytes, the runtime asks for 256.
        self.memory = torch.empty(size.value + 256, dtype=torch.uint8, device=device)
        self.workspace = (self.memory.data_ptr() + 255) & ~255
        self.arguments = (
            self.function,
            ins,
            ctypes.c_int32(len(inputs)),
            outs,
            ctypes.c_int32(len(outputs)),
            ctypes.c_void_p(self.workspace),
            size,
        )
        self.run = lib.tenonFunctionRun

    def __call__(self) -> list[torch.Tensor]:
        """Enqueues the call on the current stream."""
        stream = (
            torch.cuda.current_stream().cuda_stream if self.inputs[0].is_cuda else 0
        )
        status = self.run(*self.arguments, ctypes.c_void_p(stream))
        if status:
            self.model.check(status)
        return self.outputs
