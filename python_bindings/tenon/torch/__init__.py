# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tenon for PyTorch.

`torch.compile(model, backend="tenon")` needs no import. This module has the rest:

* `optimize`: a module that stands in for another and runs faster;
* `export`, `aot_compile`: a model as MLIR, or as a shared object for use without Python;
* `explain`: what is fused, what is not, and why;
* `refresh`: for parameters that were changed behind PyTorch's back;
* `SyncBatchNorm`: batch norm over several processes, in a form that compiles;
* `rows_outside`: how often float32 products took the slower path.
"""

import importlib
import importlib.util
from typing import TYPE_CHECKING, Any

if importlib.util.find_spec("torch") is None:
    raise ModuleNotFoundError("tenon.torch needs PyTorch 2.11 or later: pip install torch", name="torch")

if TYPE_CHECKING:
    from tenon.torch.ahead_of_time.aot import aot_compile, export
    from tenon.torch.calls.call import rows_outside
    from tenon.torch.calls.parameters import refresh
    from tenon.torch.explanation.explain import explain
    from tenon.torch.modules.module import optimize
    from tenon.torch.options import Options
    from tenon.torch.sync_batch_norm import SyncBatchNorm

__all__ = ["Options", "SyncBatchNorm", "aot_compile", "explain", "export", "optimize", "refresh", "rows_outside"]

_HOMES = {
    "Options": "options",
    "SyncBatchNorm": "sync_batch_norm",
    "aot_compile": "ahead_of_time.aot",
    "explain": "explanation.explain",
    "export": "ahead_of_time.aot",
    "optimize": "modules.module",
    "refresh": "calls.parameters",
    "rows_outside": "calls.call",
}


def __getattr__(name: str) -> Any:
    """Import on first use: what torch.export needs takes seconds on some machines."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"tenon.torch.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
