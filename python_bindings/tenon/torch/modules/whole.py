# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions that are recorded as one op each.

PyTorch has one kernel for each of them, and takes them apart where a mode is active, as
it is while recording. What stays with PyTorch is to run as PyTorch runs it.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from tenon.torch.modules.record import Recorder

_WHOLE = {functional.rms_norm, torch.rms_norm, functional.scaled_dot_product_attention}


class WholeFunctions(TorchFunctionMode):
    """Has a recorder that is active write down these functions as they are."""

    def __init__(self, recorder: Recorder) -> None:
        """Take the recorder."""
        super().__init__()
        self._recorder = recorder

    def __torch_function__(self, function: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        """Run a function."""
        kwargs = kwargs or {}
        dropout = kwargs.get("dropout_p", args[4] if len(args) > 4 else 0.0)
        if function not in _WHOLE or (function is functional.scaled_dot_product_attention and dropout):
            return function(*args, **kwargs)
        with torch._C._DisableTorchDispatch():
            result = function(*args, **kwargs)
        self._recorder.write(function, args, kwargs, result)
        return result
