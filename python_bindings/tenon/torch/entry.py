# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A module's forward, captured and compiled for calls of one kind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import SYMPY_INTERP, DimDynamic, ShapeEnv, StatelessSymbolicContext

from tenon.torch.arguments import Arguments
from tenon.torch.guards import TENSOR_TYPES, Ambient, guard_tensors
from tenon.torch.options import Options
from tenon.torch.purity import Scan
from tenon.torch.reads import Impure
from tenon.torch.stand_in import FlatForward

# The dynamic dimensions of each tensor.
Dims = tuple[frozenset[int], ...]


class Entry:
    """A compiled forward and the calls that it is for, as far as arguments tell.

    Attributes:
        kind: equal for calls that differ in extents and strides at most.
        shapes: shapes of the arguments that it was captured with.

    """

    def __init__(self, scan: Scan, arguments: Arguments, dynamic: Dims, options: Options) -> None:
        """Capture and compile; raise Impure if the graph would not be all that forward does."""
        sources = scan.reads.present_tensors()
        tensors = (*sources, *arguments.tensors)
        if any(type(tensor) not in TENSOR_TYPES for tensor in tensors):
            raise Impure("a tensor is of a subclass of torch.Tensor")
        if scan.changes and arguments.mutable:
            raise Impure("forward may change a container that is an argument")
        self._ambient = Ambient()
        self._structure = arguments.structure
        self.kind = kind_of(arguments)
        self.shapes = [tensor.shape for tensor in arguments.tensors]
        free = (frozenset(),) * len(sources) + dynamic
        self._check = guard_tensors(tensors, free)
        inputs, env = _make_fake(tensors, free)
        forward = FlatForward(scan, arguments, len(sources))
        self._run = forward.compile(inputs, options)
        self._rebuild = forward.rebuild
        self._extents = _guard_extents(env, inputs, free) if any(dynamic) else None

    def admits(self, structure: Any, tensors: Sequence[torch.Tensor]) -> bool:
        """Tell whether a call is one of those that this was compiled for.

        `tensors` are those that forward reads, then the arguments.
        """
        return (
            structure == self._structure
            and self._ambient.holds()
            and self._check(*tensors)
            and (self._extents is None or self._extents(tensors))
        )

    def __call__(self, tensors: Sequence[torch.Tensor]) -> Any:
        """Run on the tensors of a call that it admits."""
        if not self._ambient.autocast:
            return self._rebuild(self._run(*tensors))
        with torch._C._DisableAutocast():  # its casts are in the graph
            return self._rebuild(self._run(*tensors))

    @property
    def fuses(self) -> bool:
        """Whether there is anything that PyTorch would not run as well by itself."""
        return self._run is not None


class SpecializedError(Exception):
    """Extents that were to be dynamic became constants of the graph."""


def kind_of(arguments: Arguments) -> tuple[Any, ...]:
    """Return what is equal for calls that differ in extents and strides at most."""
    tensors = [(t.dtype, t.device, t.dim(), t.requires_grad) for t in arguments.tensors]
    return (Ambient().key, arguments.structure, tuple(tensors))


def _make_fake(tensors: Sequence[torch.Tensor], dynamic: Dims) -> tuple[list[torch.Tensor], ShapeEnv]:
    # What depends on data has no place in a graph: capturing fails.
    env = ShapeEnv(allow_scalar_outputs=False, allow_dynamic_output_shape_ops=False)
    mode = FakeTensorMode(shape_env=env)
    fakes = []
    for tensor, free in zip(tensors, dynamic, strict=True):
        sizes = [DimDynamic.DYNAMIC if d in free else DimDynamic.STATIC for d in range(tensor.dim())]
        fakes.append(mode.from_tensor(tensor, symbolic_context=StatelessSymbolicContext(dynamic_sizes=sizes)))
    return fakes, env


def _guard_extents(
    env: ShapeEnv, inputs: Sequence[torch.Tensor], dynamic: Dims
) -> Callable[[Sequence[torch.Tensor]], bool]:
    """Return a function that tells whether tensors' dynamic extents are such as capture took for granted."""
    places = [(i, d) for i, dims in enumerate(dynamic) for d in sorted(dims)]
    extents = [inputs[i].shape[d] for i, d in places]
    if any(not isinstance(n, torch.SymInt) or n.node.maybe_as_int() is not None for n in extents):
        raise SpecializedError
    condition = env.produce_guards_expression(extents) or "True"
    for k, (i, d) in enumerate(places):
        condition = condition.replace(f"L['t{k}']", f"tensors[{i}].size({d})")
    contiguous = [f"tensors[{i}].is_contiguous()" for i, dims in enumerate(dynamic) if dims]
    return eval(f"lambda tensors: {' and '.join([*contiguous, condition])}", SYMPY_INTERP)
