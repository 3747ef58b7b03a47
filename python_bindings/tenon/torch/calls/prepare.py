# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a model makes of its parameters, made once a version of them."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import torch

from tenon import _native, forks
from tenon.torch.calls.launch import Launch
from tenon.torch.calls.parameters import version_of

if TYPE_CHECKING:
    from tenon.importer.specs import InputSpec

# Sets of parameters that one function keeps prepared at once, such as those of all
# layers of a model that are alike.
_MAX_KEPT = 4096


class Prepare:
    """A partition's parameters on one device, made ready for its run function.

    A call gives one list: the parameters as the run function takes them, transposed
    where the partition asks for that, then the results of the prepare function. They
    are kept for each set of parameters, and made anew, in the same memory, when those
    have changed: a CUDA graph that was captured before sees the new values too.
    """

    def __init__(self, specs: Sequence[InputSpec], names: Sequence[str], function: Launch | None) -> None:
        """Take the partition's inputs with their names, and the prepare function if there is one."""
        self._parameters = [i for i, spec in enumerate(specs) if spec.parameter]
        inputs = function.description["inputs"] if function else []
        self._inputs = [self._parameters.index(names.index(tensor["name"])) for tensor in inputs]
        self._transposed = [specs[i].transpose for i in self._parameters]
        self._function = function
        self._kept: dict[tuple[int, ...], _Prepared] = {}  # by the parameters' identity, the oldest first
        self._lock = forks.Lock()

    @property
    def parameters(self) -> list[int]:
        """The inputs of which something is made."""
        return self._parameters

    def __call__(self, inputs: Sequence[torch.Tensor], stream: int) -> list[torch.Tensor]:
        """Return the tensors made of the parameters among `inputs`, for use on `stream`."""
        parameters = [inputs[i] for i in self._parameters]
        found = self._kept.get(tuple(map(id, parameters)))
        if found and found.version.holds(parameters):
            return found.tensors_on(stream)
        with self._lock:
            return self._update(parameters, stream)

    def bind_op(self, text: str, index: int, inputs: Sequence[torch.Tensor]) -> None:
        """Have the kernel of `torch.ops.tenon.fused` take what is kept of the parameters among `inputs`."""
        parameters = [inputs[i] for i in self._parameters]
        found = self._kept.get(tuple(map(id, parameters)))
        if found and not any(p._is_zerotensor() for p in parameters):  # these have no memory
            _native.bind_prepared(text, index, [p._cdata for p in parameters], found.native)

    def refresh(self, stream: int) -> None:
        """Make anew, where it is kept, what was made of parameters that have changed since."""
        for prepared in list(self._kept.values()):
            if not prepared.version.is_current() and (parameters := prepared.version.parameters()) is not None:
                with self._lock:
                    self._update(parameters, stream)

    def _update(self, parameters: list[torch.Tensor], stream: int) -> list[torch.Tensor]:
        key = tuple(map(id, parameters))
        found = self._kept.get(key)
        if found and not found.version.is_of(parameters):
            found = None  # of others that are gone
        if found and found.version.holds(parameters):
            return found.tensors_on(stream)
        if parameters[0].is_cuda and torch.cuda.is_current_stream_capturing():
            # Captured work is done at each replay, and not now: it is for this graph alone.
            return self._make(parameters, stream, None)
        self._kept.pop(key, None)
        old = found.reclaim(stream) if found else None
        tensors = self._make(parameters, stream, old) if old else self._make_kept(parameters, stream)
        self._kept[key] = prepared = _Prepared(tensors, parameters, stream)
        prepared.watch(parameters, functools.partial(self._kept.pop, key, None))
        for oldest in list(self._kept)[:-_MAX_KEPT]:
            self._kept.pop(oldest, None)
        return tensors

    def _make_kept(self, parameters: list[torch.Tensor], stream: int) -> list[torch.Tensor]:
        """Make what outlives the call.

        On a thread of its own: PyTorch's CUDA graph trees have what their thread allocates lie in a graph's pool,
        where a replay overwrites it.
        """
        if not parameters[0].is_cuda:
            return self._make(parameters, stream, None)
        device = parameters[0].device
        current = torch.cuda.current_stream(device)

        def make() -> list[torch.Tensor]:
            with torch.cuda.device(device), torch.cuda.stream(current):
                return self._make(parameters, stream, None)

        with ThreadPoolExecutor(1) as other:
            return other.submit(make).result()

    def _make(
        self, parameters: list[torch.Tensor], stream: int, old: list[torch.Tensor | None] | None
    ) -> list[torch.Tensor]:
        with torch.no_grad():
            tensors = []
            for i, (parameter, transposed) in enumerate(zip(parameters, self._transposed, strict=True)):
                view = parameter.detach().t() if transposed else parameter.detach()
                copied = old[i] if old and not view.is_contiguous() else None
                reuse = copied is not None and copied.shape == view.shape
                tensors.append(copied.copy_(view) if reuse else view.contiguous().resolve_neg())
        if not self._function:
            return tensors
        results = old[len(tensors) :] if old else self._function.make_outputs()
        self._function([tensors[i] for i in self._inputs], results, stream)
        return tensors + results


class _Prepared:
    """Tensors made of one version of the parameters."""

    def __init__(self, tensors: list[torch.Tensor], parameters: Sequence[torch.Tensor], stream: int) -> None:
        self.version = version_of(parameters)
        self.native = _native.Prepared(self.version, tensors, [t.data_ptr() for t in tensors])
        self._tensors = tensors
        of_parameters = [p.data_ptr() for p in parameters]
        self._is_own = [t.data_ptr() not in of_parameters for t in tensors]
        self._streams: set[int] = set()
        self._add_stream(stream)
        self._made = torch.cuda.current_stream(parameters[0].device).record_event() if parameters[0].is_cuda else None

    def watch(self, parameters: Sequence[torch.Tensor], forget: Callable[[], object]) -> None:
        """Have `forget` called when one of the parameters is gone, since then no call can have them all."""
        self._watched = [weakref.ref(parameter, lambda _: forget()) for parameter in parameters]

    def tensors_on(self, stream: int) -> list[torch.Tensor]:
        """Return the tensors; work put on `stream` from now on finds them made."""
        if stream not in self._streams:
            # A capture cannot wait for what is outside of it; torch.cuda.graph has waited.
            if torch.cuda.is_current_stream_capturing():
                return self._tensors
            current = torch.cuda.current_stream(self._tensors[0].device)
            current.wait_event(self._made)
            for tensor in self._tensors:
                tensor.record_stream(current)
            self._add_stream(stream)
        return self._tensors

    def reclaim(self, stream: int) -> list[torch.Tensor | None]:
        """Return the tensors to be overwritten by work on `stream`, when no other stream reads them.

        In the place of those that are parameters as they lie there is None.
        """
        self.native.end()
        tensors = self.tensors_on(stream)
        for other in self._streams - {stream}:
            device = tensors[0].device
            torch.cuda.current_stream(device).wait_stream(torch.cuda.ExternalStream(other, device))
        return [t if is_own else None for t, is_own in zip(tensors, self._is_own, strict=True)]

    def _add_stream(self, stream: int) -> None:
        self._streams.add(stream)
        self.native.add_stream(stream)
