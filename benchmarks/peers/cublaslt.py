# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A thin layer over cuBLASLt's lower-level interface: every algorithm that it lists for y = x w^T."""

from __future__ import annotations

import ctypes
import sys
from ctypes import byref, c_float, c_int, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from pathlib import Path

import torch

# Values of cublasLt.h and library_types.h.
DATA_TYPE = {torch.bfloat16: 14, torch.float16: 2, torch.float32: 0}
R_32F, COMPUTE_32F, COMPUTE_32F_FAST_TF32 = 0, 68, 77
DESC_TRANSA, OP_T = 3, 1
CAP_TILE_IDS, CAP_STAGES_IDS = 6, 13
CONFIG_TILE_ID, CONFIG_STAGES_ID, CONFIG_SWIZZLE = 1, 6, 4
MOST_ALGORITHMS = 256
# Tiles that a large product may want: 64x256, 128x128, 256x64, 128x256, 256x128, 192x128, 128x192.
LARGE_TILES = {19, 20, 21, 23, 24, 31, 32}


class Algorithm(ctypes.Structure):
    """cublasLtMatmulAlgo_t."""

    _fields_ = (("data", c_uint64 * 8),)

    def capability(self, library: ctypes.CDLL, attribute: int) -> list[int]:
        """Return the list of ids that the algorithm has for an attribute; [0], undefined, for none."""
        written = c_size_t()
        library.cublasLtMatmulAlgoCapGetAttribute(byref(self), attribute, None, c_size_t(0), byref(written))
        ids = (c_uint32 * (written.value // 4))()
        if len(ids):
            check(
                library.cublasLtMatmulAlgoCapGetAttribute(
                    byref(self), attribute, ids, c_size_t(ctypes.sizeof(ids)), byref(written)
                ),
                "cublasLtMatmulAlgoCapGetAttribute",
            )
        return list(ids) or [0]

    def configured(self, library: ctypes.CDLL, settings: dict[int, int]) -> Algorithm | None:
        """Return a copy with these attributes, None where it takes one of them not."""
        copy = Algorithm.from_buffer_copy(self)
        for attribute, value in settings.items():
            status = library.cublasLtMatmulAlgoConfigSetAttribute(
                byref(copy), attribute, byref(c_uint32(value)), c_size_t(4)
            )
            if status:
                return None
        return copy


class HeuristicResult(ctypes.Structure):
    """cublasLtMatmulHeuristicResult_t."""

    _fields_ = (
        ("algorithm", Algorithm),
        ("workspace_bytes", c_size_t),
        ("state", c_int),
        ("waves", c_float),
        ("reserved", c_int * 4),
    )


def check(status: int, function: str) -> None:
    """Raise for a status that is not success."""
    if status:
        raise RuntimeError(f"{function} returned cuBLAS status {status}")


def load() -> ctypes.CDLL:
    """Return the cuBLASLt that PyTorch uses."""
    name = f"libcublasLt.so.{str(torch.version.cuda).split('.')[0]}"
    beside = (file for folder in sys.path for file in Path(folder or ".").glob(f"nvidia/*/lib/{name}"))
    for candidate in (name, *map(str, beside)):
        try:
            return ctypes.CDLL(candidate)
        except OSError:
            continue
    raise RuntimeError(f"{name} is neither on the loader's path nor in a wheel beside PyTorch: set LD_LIBRARY_PATH")


class Problem:
    """y = x w^T for one shape and data type, all row-major: for cuBLAS, y^T[N,M] = w x^T with column-major matrices."""

    def __init__(self, x: torch.Tensor, w: torch.Tensor, y: torch.Tensor) -> None:
        """Make the handle and the descriptors, which live as long as the process."""
        self.library, self.x, self.w, self.y = load(), x, w, y
        (m, k), n = x.shape, w.shape[0]
        self.type = DATA_TYPE[x.dtype]
        self.compute = COMPUTE_32F_FAST_TF32 if x.dtype == torch.float32 else COMPUTE_32F
        self.handle, self.operation = c_void_p(), c_void_p()
        check(self.library.cublasLtCreate(byref(self.handle)), "cublasLtCreate")
        create = self.library.cublasLtMatmulDescCreate
        check(create(byref(self.operation), self.compute, R_32F), "cublasLtMatmulDescCreate")
        set_attribute = self.library.cublasLtMatmulDescSetAttribute
        check(
            set_attribute(self.operation, DESC_TRANSA, byref(c_int(OP_T)), c_size_t(4)),
            "cublasLtMatmulDescSetAttribute",
        )
        self.w_layout, self.x_layout, self.y_layout = self.layout(k, n), self.layout(k, m), self.layout(n, m)
        self.one, self.zero = c_float(1), c_float(0)

    def layout(self, rows: int, columns: int) -> c_void_p:
        """Return the layout of a dense column-major matrix."""
        layout = c_void_p()
        create = self.library.cublasLtMatrixLayoutCreate
        status = create(byref(layout), self.type, c_uint64(rows), c_uint64(columns), c_int64(rows))
        check(status, "cublasLtMatrixLayoutCreate")
        return layout

    def identifiers(self) -> list[int]:
        """Return the ids of the algorithms for these data types."""
        ids, count, t = (c_int * MOST_ALGORITHMS)(), c_int(), self.type
        status = self.library.cublasLtMatmulAlgoGetIds(
            self.handle, self.compute, R_32F, t, t, t, t, MOST_ALGORITHMS, ids, byref(count)
        )
        check(status, "cublasLtMatmulAlgoGetIds")
        return list(ids[: count.value])

    def algorithms(self, identifier: int) -> dict[str, Algorithm]:
        """Return an algorithm's configurations of large tiles that may run here without a workspace, by name."""
        base, found, t = Algorithm(), {}, self.type
        status = self.library.cublasLtMatmulAlgoInit(
            self.handle, self.compute, R_32F, t, t, t, t, identifier, byref(base)
        )
        if status:  # not for these data types
            return found
        for tile in sorted(LARGE_TILES.intersection(base.capability(self.library, CAP_TILE_IDS))):
            for stages in base.capability(self.library, CAP_STAGES_IDS):
                for swizzle in (0, 1):
                    settings = {CONFIG_TILE_ID: tile, CONFIG_STAGES_ID: stages, CONFIG_SWIZZLE: swizzle}
                    algorithm = base.configured(self.library, settings)
                    if algorithm and self.runs(algorithm):
                        found[f"algo{identifier}_tile{tile}_stages{stages}_swizzle{swizzle}"] = algorithm
        return found

    def runs(self, algorithm: Algorithm) -> bool:
        """Tell whether cuBLASLt accepts an algorithm here without a workspace."""
        result = HeuristicResult()
        layouts = (self.w_layout, self.x_layout, self.y_layout, self.y_layout)
        status = self.library.cublasLtMatmulAlgoCheck(
            self.handle, self.operation, *layouts, byref(algorithm), byref(result)
        )
        return status == 0 and result.workspace_bytes == 0

    def launch(self, algorithm: Algorithm) -> None:
        """Enqueue the product on PyTorch's current stream."""
        y = c_void_p(self.y.data_ptr())
        status = self.library.cublasLtMatmul(
            self.handle,
            self.operation,
            byref(self.one),
            c_void_p(self.w.data_ptr()),
            self.w_layout,
            c_void_p(self.x.data_ptr()),
            self.x_layout,
            byref(self.zero),
            y,
            self.y_layout,
            y,
            self.y_layout,
            byref(algorithm),
            None,
            c_size_t(0),
            c_void_p(torch.cuda.current_stream().cuda_stream),
        )
        check(status, "cublasLtMatmul")
