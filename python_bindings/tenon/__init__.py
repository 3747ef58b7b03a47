# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tenon, a graph-level fusion compiler for linear layers.

`tenon.compile` makes an Executable of a model as MLIR text; it takes and returns arrays of
NumPy, PyTorch, CuPy and JAX. PyTorch models need nothing but
`torch.compile(model, backend="tenon")`; `tenon.torch` has more for them.
"""

from importlib.metadata import version as _version

from tenon import cache, errors
from tenon.compiler import compile, load, lower
from tenon.errors import (
    ArgumentError,
    CompileError,
    DeviceError,
    Diagnostic,
    NotFoundError,
    Remark,
    TenonError,
    UnsupportedError,
)
from tenon.executable import Entry, Executable, Prepared

__version__ = _version("tenon")

__all__ = [
    "ArgumentError",
    "CompileError",
    "DeviceError",
    "Diagnostic",
    "Entry",
    "Executable",
    "NotFoundError",
    "Prepared",
    "Remark",
    "TenonError",
    "UnsupportedError",
    "cache",
    "compile",
    "errors",
    "load",
    "lower",
]
