# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Captures a forward for any batch size, on fake tensors with symbolic extents."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import fx, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import SYMPY_INTERP, DimDynamic, ShapeEnv, StatelessSymbolicContext

from tenon.torch.backend import compile_graph
from tenon.torch.calls.function import function_of
from tenon.torch.capture import capture_inference
from tenon.torch.modules.arguments import CallArguments, take_result_apart
from tenon.torch.modules.guards import guard_apart
from tenon.torch.modules.purity import Scan, class_of
from tenon.torch.modules.reads import Impure
from tenon.torch.modules.specialization import Dims, Specialization
from tenon.torch.options import Options


class SpecializedError(Exception):
    """Extents that were to be dynamic became constants of the graph."""


def compile_symbolic(entry: Specialization, scan: Scan, arguments: CallArguments, options: Options) -> None:
    """Complete an entry whose dynamic extents are free, without a call of the module.

    Raises:
        Impure: the graph would not be all that forward does.
        SpecializedError: it would hold for extents as they are now alone.

    """
    inputs, env = _make_fake(entry.tensors, entry.dynamic)
    forward = _FlatForward(scan, arguments, entry.sources)
    compiled: list[Callable[..., Any]] = []
    apart: list[Callable[..., bool] | None] = []

    def compiler(graph: fx.GraphModule, fakes: Sequence[Any]) -> Callable[..., Any]:
        changed = forward.check(graph, len(inputs))
        apart.append(guard_apart(entry.tensors, entry.dynamic, changed) if changed else None)
        if compile_graph(graph, entry.parameters, options):
            compiled.append(function_of(graph))
        return function_of(graph)

    capture_inference(forward, inputs, compiler)
    entry.complete(
        compiled[0] if compiled else None, forward.rebuild, _guard_extents(env, inputs, entry.dynamic), *apart
    )


class _FlatForward(nn.Module):
    """A forward as a function of flat tensors: those that it reads, then its arguments.

    Attributes:
        rebuild: from its results to those of forward.

    """

    def __init__(self, scan: Scan, arguments: CallArguments, sources: int) -> None:
        super().__init__()
        self._scan = (scan,)  # not a submodule's parameters: a tuple hides them
        self._arguments = arguments
        self._sources = sources
        self._results = 0
        self.rebuild: Callable[[Sequence[torch.Tensor]], Any] = tuple

    def __call__(self, *tensors: torch.Tensor) -> list[torch.Tensor]:
        """Run forward alone: hooks for all modules are for the user's."""
        return self.forward(*tensors)

    def forward(self, *tensors: torch.Tensor) -> list[torch.Tensor]:
        root = _stand_in(self._scan[0], tensors[: self._sources])
        args, kwargs = self._arguments.rebuild(tensors[self._sources :])
        results, self.rebuild = take_result_apart(type(root).forward(root, *args, **kwargs))
        self._results = len(results)
        return results

    def check(self, graph: fx.GraphModule, inputs: int) -> set[int]:
        """Return which inputs it writes to; raise Impure unless calling the graph is all that there is to do."""
        placeholders = graph.graph.find_nodes(op="placeholder")
        results = graph.graph.output_node().args[0]
        if len(placeholders) != inputs or len(results) != self._results:
            raise Impure("inputs or results that share memory")
        copies = graph.graph.find_nodes(op="call_function", target=torch.ops.aten.copy_.default)
        changed = {placeholders.index(node.args[0]) for node in copies}
        if any(i >= self._sources for i in changed):
            raise Impure("forward writes to its arguments")
        return changed


def _stand_in(scan: Scan, tensors: Sequence[torch.Tensor]) -> nn.Module:
    """Return a copy of a tree of modules that has `tensors` for those that forward reads."""
    copies = {id(module): object.__new__(class_of(module)) for module in scan.modules}
    dictionaries: dict[int, dict[str, Any]] = {}
    for module in scan.modules:
        own = {name: copies.get(id(value), value) for name, value in vars(module).items()}
        for registry in ("_parameters", "_buffers", "_modules"):
            entries = own[registry].items()
            dictionaries[id(own[registry])] = own[registry] = {k: copies.get(id(v), v) for k, v in entries}
        dictionaries[id(vars(module))] = own
        object.__setattr__(copies[id(module)], "__dict__", own)
    _, order = scan.reads.unique_tensors()
    for (dictionary, key), position in zip(scan.reads.tensors.values(), order, strict=True):
        dictionaries[id(dictionary)][key] = tensors[position]
    return copies[id(scan.root)]


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
