# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`torch.ops.tenon.fused`: a compiled function as an op, for graphs that others compile.

The op is told by a text which function it is, all that compiling it takes included. So code that
Inductor keeps on disk stands for itself: another process finds the function in Tenon's cache, or
compiles it.

Its kernel is the native module's (python_bindings/src/Op.cpp). It runs what `bind_op` and `bind_prepared` have told it
of, and hands other calls to `tenon.handed_over`, which knows the function by the native module's number of its text.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence
from typing import Any

import torch

import tenon
from tenon import _native
from tenon.errors import ArgumentError
from tenon.importer.specs import FunctionSpec, InputSpec, OutputSpec
from tenon.torch.calls.call import FusedCall

_library = torch.library.Library("tenon", "FRAGMENT")
# Outputs are given: whoever compiles the graph plans their memory, and a running statistic is written where it is.
_SCHEMAS = {"fused": "str function", "handed_over": "int number"}
for _name, _function in _SCHEMAS.items():
    _schema = f"{_name}({_function}, Tensor[] inputs, Tensor(a!)[] outputs) -> ()"
    _library.define(_schema, tags=(torch.Tag.needs_exact_strides,))
fused = torch.ops.tenon.fused.default
_registered: dict[str, FusedCall] = {}
_known_to_kernel: set[tuple[int, int]] = set()  # a function's number and the index of a device


def register(call: FusedCall, arguments: dict[str, Any]) -> str:
    """Return the text by which the op knows a call; one serves for all whose texts are equal.

    Args:
        call: what the op is to run in this process.
        arguments: those of `tenon.compile` with which another process gets the same executable, as keywords.

    """
    function = call.function
    described = {
        "compile": arguments,
        "inputs": [[i.dtype, i.shape, i.parameter, i.transpose] for i in function.inputs],
        "outputs": [[o.dtype, o.in_place] for o in function.outputs],
    }
    text = json.dumps(described, separators=(",", ":"))
    _registered.setdefault(text, call)
    return text


@functools.cache
def _call_of(text: str) -> FusedCall:
    if text in _registered:
        return _registered[text]
    described = json.loads(text)
    inputs = [InputSpec(t, tuple(s), p, transpose) for t, s, p, transpose in described["inputs"]]
    outputs = [OutputSpec(t, (), in_place) for t, in_place in described["outputs"]]
    arguments = described["compile"]
    function = FunctionSpec(arguments["name"], arguments["mlir"], inputs, outputs)
    return FusedCall(function, tenon.compile(**arguments))


@functools.cache
def _numbered(number: int) -> tuple[str, FusedCall]:
    text = _native.op_text(number)
    return text, _call_of(text)


def _run(function: str, inputs: Sequence[torch.Tensor], outputs: Sequence[torch.Tensor]) -> None:
    _write(_call_of(function), inputs, outputs)


def _run_handed_over(number: int, inputs: Sequence[torch.Tensor], outputs: Sequence[torch.Tensor]) -> None:
    try:
        text, call = _numbered(number)
        _write(call, inputs, outputs)
        index = inputs[0].get_device()
        if (number, index) not in _known_to_kernel:
            _known_to_kernel.add((number, index))
            call.bind_op(text, index)
        call.bind_prepared(text, index, inputs)
    except BaseException as error:
        if not _native.keep_op_error(error):
            raise


def _write(call: FusedCall, inputs: Sequence[torch.Tensor], outputs: Sequence[torch.Tensor]) -> None:
    if len(set(map(torch.Tensor.get_device, (*inputs, *outputs)))) > 1:
        found = ", ".join(dict.fromkeys(str(t.device) for t in (*inputs, *outputs)))
        raise ArgumentError(f"{call.__name__}: all tensors have to be on one device, and these are on {found}")
    if all(map(torch.Tensor.is_contiguous, outputs)):
        call.write(inputs, outputs)
        return
    # As a running statistic that is a column of another tensor.
    results = [torch.empty_like(t, memory_format=torch.contiguous_format) for t in outputs]
    call.write(inputs, results)
    for tensor, result in zip(outputs, results, strict=True):
        tensor.copy_(result)


kernel_keys = [key for key in ("CPU", "CUDA") if _native.implement_op(key)]  # all, but with a PyTorch unknown to Tenon
for _key in ("CPU", "CUDA"):
    _library.impl("handed_over", _run_handed_over, _key)
    if _key not in kernel_keys:
        _library.impl("fused", _run, _key)
for _name in _SCHEMAS:
    torch.library.register_fake(f"tenon::{_name}", lambda function, inputs, outputs: None, lib=_library)
