# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tenon, a graph-level fusion compiler for linear layers.

`tenon.compile` makes an Executable of a model as MLIR text; it takes and returns arrays of
NumPy, PyTorch, CuPy and JAX. PyTorch models need nothing but
`torch.compile(model, backend="tenon")`; `tenon.torch` has more for them.
"""

from importlib import import_module as _import_module
from importlib.metadata import version as _version
from types import ModuleType as _ModuleType

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
from tenon.paths import get_include, get_library_dir

__version__ = _version("tenon-compiler")

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
    "get_include",
    "get_library_dir",
    "load",
    "lower",
]


def __getattr__(name: str) -> _ModuleType:
    """Import tenon.torch where it is first used; without it, PyTorch is not needed."""
    if name == "torch":
        return _import_module("tenon.torch")
    raise AttributeError(f"module 'tenon' has no attribute '{name}'")
