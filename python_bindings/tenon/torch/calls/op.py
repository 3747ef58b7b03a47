# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`torch.ops.tenon.fused`: a compiled function as an op, for graphs that others compile.

The op is told by a text which function it is, all that compiling it takes included. So code that
Inductor keeps on disk stands for itself: another process finds the function in Tenon's cache, or
compiles it.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence
from typing import Any

import torch

import tenon
from tenon.torch.calls.call import FusedCall
from tenon.torch.fusion.specs import FunctionSpec, OutputSpec, TensorSpec

_library = torch.library.Library("tenon", "FRAGMENT")
# Outputs are given: whoever compiles the graph plans their memory, and a running statistic is written where it is.
_library.define(
    "fused(str function, Tensor[] inputs, Tensor(a!)[] outputs) -> ()", tags=(torch.Tag.needs_exact_strides,)
)
fused = torch.ops.tenon.fused.default
_registered: dict[str, FusedCall] = {}


def register(call: FusedCall, settings: dict[str, Any]) -> str:
    """Return the text by which the op knows a call.

    Args:
        call: what the op is to run in this process.
        settings: keyword arguments of `tenon.compile` with which another process gets the same executable.

    """
    function = call.function
    described = {
        "name": function.name,
        "source": function.source,
        "settings": settings,
        "inputs": [[_name(i.dtype), i.shape, i.parameter, i.transpose] for i in function.inputs],
        "outputs": [[_name(o.dtype), o.in_place] for o in function.outputs],
    }
    text = json.dumps(described, separators=(",", ":"))
    _registered[text] = call
    return text


@functools.cache
def _call_of(text: str) -> FusedCall:
    if text in _registered:
        return _registered[text]
    described = json.loads(text)
    inputs = [TensorSpec(getattr(torch, t), tuple(s), p, transpose) for t, s, p, transpose in described["inputs"]]
    outputs = [OutputSpec(getattr(torch, t), (), in_place) for t, in_place in described["outputs"]]
    function = FunctionSpec(described["name"], described["source"], inputs, outputs)
    return FusedCall(function, tenon.compile(function.source, name=function.name, **described["settings"]))


def _run(function: str, inputs: Sequence[torch.Tensor], outputs: Sequence[torch.Tensor]) -> None:
    _call_of(function).write(inputs, outputs)


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


for _device in ("CPU", "CUDA"):
    _library.impl("fused", _run, _device)
torch.library.register_fake("tenon::fused", lambda function, inputs, outputs: None, lib=_library)
