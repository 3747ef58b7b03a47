# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The kinds of value that a proof of purity knows, and what may be done with each.

* VALUE: tensors, numbers, strings, and containers of these that forward was given or made;
* MODULES: submodules, or containers and iterators that may hold some;
* Known: one Python object, such as `self`, a submodule, `torch` or a function;
* Method: a method of a known module.
"""

from __future__ import annotations

import dataclasses
import math
from types import BuiltinFunctionType, FunctionType
from typing import Any

import torch
from torch import nn

VALUE = "value"
MODULES = "modules"


@dataclasses.dataclass(frozen=True, eq=False)
class Known:
    """One object."""

    value: Any

    def __eq__(self, other: object) -> bool:
        """Compare by the object's identity."""
        return isinstance(other, Known) and other.value is self.value

    __hash__ = None  # type: ignore[assignment]


@dataclasses.dataclass(frozen=True, eq=False)
class Method:
    """A method of a module; `function` is None for those that give a container's modules."""

    function: FunctionType | None
    owner: nn.Module


Abstract = str | Known | Method

# They look at their arguments, and keep and change none of them.
BUILTINS = (abs, all, any, bool, divmod, float, int, max, min, pow, range, round, slice, sum)
# These also take and give modules.
ITERATION = (dict, enumerate, len, list, reversed, tuple, zip)
CLASSES = (torch.Tensor, torch.Size, torch.finfo, torch.iinfo, torch.dtype, torch.device)

_TORCH_HOMES = (torch._C._nn, torch._C._special, torch._C._linalg, torch._C._fft, math)
_TORCH_SOURCES = (vars(nn.functional), vars(torch.functional))
_TORCH_REFUSED = {"asarray", "from_file", "from_numpy", "frombuffer", "is_inference"}

# Of tensors: what leaves the graph, looks behind it, depends on autograd's state or changes a shape in place.
_TENSOR_REFUSED = {
    "apply_", "as_strided_", "as_subclass", "backward", "const_data_ptr", "data", "data_ptr", "detach_", "grad",
    "grad_dtype", "grad_fn", "is_inference", "is_leaf", "is_pinned", "is_set_to", "is_shared", "item", "map2_",
    "map_", "module_load", "name", "names", "numpy", "output_nr", "pin_memory", "record_stream", "register_hook",
    "register_post_accumulate_grad_hook", "reinforce", "rename", "rename_", "requires_grad", "requires_grad_",
    "resize", "resize_", "resize_as", "resize_as_", "resize_as_sparse_", "retain_grad", "retains_grad", "set_",
    "share_memory_", "squeeze_", "storage", "storage_offset", "storage_type", "swapaxes_", "swapdims_", "t_",
    "tolist", "transpose_", "unsqueeze_", "untyped_storage", "volatile",
}  # fmt: skip
CHANGING = frozenset({"append", "clear", "extend", "insert", "pop", "remove", "reverse", "setdefault", "update"})
VALUE_ATTRIBUTES = (
    frozenset({name for name in dir(torch.Tensor) if not name.startswith("_")} - _TENSOR_REFUSED)
    | CHANGING
    | {"bits", "count", "eps", "get", "items", "keys", "max", "min", "resolution", "smallest_normal", "tiny"}
)


def is_pure_function(function: Any) -> bool:
    """Tell whether a function of PyTorch or math only computes a result."""
    if isinstance(function, BuiltinFunctionType):
        name = function.__name__
        if name.startswith("_") or name in _TORCH_REFUSED or name in _TENSOR_REFUSED:
            return False
        home = function.__self__
        return any(home is h for h in _TORCH_HOMES) or getattr(torch._C._VariableFunctions, name, None) is function
    return isinstance(function, FunctionType) and any(function.__globals__ is source for source in _TORCH_SOURCES)


def join(one: Abstract, other: Abstract) -> Abstract | None:
    """Return the kind of what is one or the other, None where there is none."""
    if one == other:
        return one
    if all(kind in (VALUE, MODULES) or isinstance(known_module(kind), nn.Module) for kind in (one, other)):
        return MODULES
    return None


def known_module(kind: Abstract) -> nn.Module | None:
    """Return the module that a kind stands for, if it does."""
    return kind.value if isinstance(kind, Known) and isinstance(kind.value, nn.Module) else None
