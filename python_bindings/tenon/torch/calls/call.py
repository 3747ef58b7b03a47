# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a compiled function on PyTorch's tensors."""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import torch

from tenon import forks
from tenon.importer.specs import InputDim, InputRows
from tenon.torch.calls.launch import Allocate, Launch, allocator, stream_getter
from tenon.torch.calls.prepare import Prepare

if TYPE_CHECKING:
    from tenon import Executable
    from tenon.importer.specs import FunctionSpec, OutputSpec


_calls: weakref.WeakSet[FusedCall] = weakref.WeakSet()
_calls_lock = forks.Lock()


def refresh_prepared() -> None:
    """Bring up to date what compiled models that are alive made of parameters that have changed since.

    A CUDA graph that is about to be replayed reads it from where it was.
    """
    with _calls_lock:
        calls = list(_calls)
    for call in calls:
        call.refresh()


def rows_outside() -> int:
    """Count the rows for which the slower path ran, in all calls of all compiled models that are alive.

    These are rows of inputs and weights outside what float16 parts can stand for (docs/Precision.md), in
    tiled float32 products: each tile of a result with such a row is computed once more. Rows of weights
    count each time that these are prepared; those that are outside only because their largest magnitude is
    below 2^-87 or not below 2^87 do not count. It waits for the GPUs: keep it out of a hot path and of graph
    captures.
    """
    with _calls_lock:
        calls = list(_calls)
    loaded = {(call.executable, index) for call in calls for index in call.devices()}
    return sum(executable.rows_outside(index) for executable, index in loaded if index >= 0)


class FusedCall:
    """A function that was compiled: takes its inputs, gives a tuple of its outputs.

    The inputs' dtypes, devices and static extents are as the function's specs say:
    whoever calls has checked that. Strides are free.
    """

    def __init__(self, function: FunctionSpec, executable: Executable) -> None:
        """Take a function and the model compiled from its source."""
        self.function = function
        self.executable = executable
        self.__name__ = function.name  # fx prints it
        self._bound: dict[int, _BoundCall] = {}
        self._lock = forks.Lock()
        with _calls_lock:
            _calls.add(self)

    def __call__(self, *inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Run on the inputs' device, on its current stream."""
        index = inputs[0].get_device()
        bound = self._bound.get(index)
        return (bound or self._bind(index))(inputs)

    def write(self, inputs: Sequence[torch.Tensor], outputs: Sequence[torch.Tensor]) -> None:
        """Run as a call does, into contiguous tensors of the outputs' shapes and dtypes."""
        index = inputs[0].get_device()
        (self._bound.get(index) or self._bind(index)).write(inputs, outputs)

    def bind_op(self, text: str, index: int) -> None:
        """Tell the kernel of `torch.ops.tenon.fused` how to run what `text` names on a device."""
        (self._bound.get(index) or self._bind(index)).bind_op(text)

    def bind_prepared(self, text: str, index: int, inputs: Sequence[torch.Tensor]) -> None:
        """Tell it what is made of the parameters among a call's inputs."""
        (self._bound.get(index) or self._bind(index)).bind_prepared(text, inputs)

    def prepare(self, inputs: Sequence[torch.Tensor | None]) -> None:
        """Bring what is made of the parameters up to date, ahead of a call.

        Inputs that are not known yet are None; without all parameters nothing happens.
        """
        parameters = [t for t, spec in zip(inputs, self.function.inputs, strict=True) if spec.parameter]
        if parameters and all(t is not None for t in parameters):
            index = parameters[0].get_device()
            (self._bound.get(index) or self._bind(index)).prepare(inputs)

    def refresh(self) -> None:
        """Bring what is made of parameters up to date wherever they changed since the last call."""
        for bound in list(self._bound.values()):
            bound.refresh()

    def devices(self) -> list[int]:
        """Return the devices that it ran on: indices of GPUs, -1 for the CPU."""
        return list(self._bound)

    def _bind(self, index: int) -> _BoundCall:
        with self._lock:
            if index not in self._bound:
                self._bound[index] = _BoundCall(self.function, self.executable, index)
            return self._bound[index]


class _BoundCall:
    """A fused call on one device: `index` of a CUDA device, -1 for the CPU."""

    def __init__(self, function: FunctionSpec, executable: Executable, index: int) -> None:
        entry = executable.manifest["entries"][0]
        self._index, self._num_inputs = index, len(function.inputs)
        self._run = Launch(executable, entry["run"], index)
        self._stream = stream_getter(index)
        allocate = allocator(index)
        self._outputs = [_maker(spec, allocate) for spec in function.outputs]
        self._in_place = [
            (position, spec.in_place) for position, spec in enumerate(function.outputs) if spec.in_place is not None
        ]
        prepare = Launch(executable, entry["prepare"], index) if "prepare" in entry else None
        self._prepare = None
        if prepare or any(spec.transpose for spec in function.inputs):
            self._prepare = Prepare(function.inputs, entry["inputs"], prepare)
        self._sources = self._find_sources(function, entry["inputs"])

    def _find_sources(self, function: FunctionSpec, names: list[str]) -> list[int]:
        """Return where each input of the run function is among the call's inputs and what was prepared."""
        inputs = len(function.inputs)
        parameters = [i for i, spec in enumerate(function.inputs) if spec.parameter]
        position = {name: i for i, name in enumerate(names)}
        sources, results = [], inputs + len(parameters)
        for tensor in self._run.description["inputs"]:
            if tensor["role"] == "prepared":
                sources.append(results)
                results += 1
            else:
                source = position[tensor["name"]]
                taken = self._prepare and source in parameters
                sources.append(inputs + parameters.index(source) if taken else source)
        return sources

    def bind_op(self, text: str) -> None:
        self._run.bind_op(text, self._num_inputs, self._sources, self._prepare.parameters if self._prepare else [])

    def bind_prepared(self, text: str, inputs: Sequence[torch.Tensor]) -> None:
        if self._prepare:
            self._prepare.bind_op(text, self._index, inputs)

    def prepare(self, inputs: Sequence[torch.Tensor | None]) -> None:
        if self._prepare:
            self._prepare(inputs, self._stream())

    def refresh(self) -> None:
        if self._prepare:
            self._prepare.refresh(self._stream())

    def __call__(self, inputs: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...]:
        results = tuple([make(inputs) for make in self._outputs])
        self.write(inputs, results)
        for position, source in self._in_place:
            if results[position] is not inputs[source]:
                inputs[source].copy_(results[position])
        return results

    def write(self, inputs: Sequence[torch.Tensor], outputs: Sequence[torch.Tensor]) -> None:
        stream = self._stream()
        known = (*inputs, *self._prepare(inputs, stream)) if self._prepare else inputs
        tensors = [known[i] for i in self._sources]
        if not all(map(torch.Tensor.is_contiguous, tensors)) or any(map(torch.Tensor.is_neg, tensors)):
            tensors = [t.contiguous().resolve_neg() for t in tensors]  # as z.conj().imag, negated when it is read
        self._run(tensors, outputs, stream)


def _maker(spec: OutputSpec, allocate: Allocate) -> Callable[[Sequence[torch.Tensor]], torch.Tensor]:
    """Return a function of the inputs that gives a tensor for an output."""
    if spec.in_place is not None:
        position = spec.in_place

        def reuse(inputs: Sequence[torch.Tensor]) -> torch.Tensor:
            statistic = inputs[position]
            is_plain = statistic.is_contiguous() and not statistic.is_neg()
            return statistic if is_plain else torch.empty_like(statistic, memory_format=torch.contiguous_format)

        return reuse
    shape, dtype = spec.shape, getattr(torch, spec.dtype)
    if all(isinstance(d, int) for d in shape):
        return lambda inputs: allocate(shape, dtype)
    return lambda inputs: allocate(_resolve(spec, inputs), dtype)


def _resolve(spec: OutputSpec, inputs: Sequence[torch.Tensor]) -> list[int]:
    shape = []
    for dim in spec.shape:
        if isinstance(dim, InputDim):
            shape.append(inputs[dim.input].shape[dim.dim])
        elif isinstance(dim, InputRows):
            shape.append(math.prod(inputs[dim.input].shape[:-1]))
        else:
            shape.append(dim)
    return shape
