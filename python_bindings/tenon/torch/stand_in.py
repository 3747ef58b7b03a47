# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Captures a forward with other tensors in the module's place, without touching the module."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import fx, nn

from tenon.torch.arguments import Arguments, take_result_apart
from tenon.torch.backend import compile_graph
from tenon.torch.capture import capture_inference
from tenon.torch.options import Options
from tenon.torch.purity import Scan, class_of
from tenon.torch.reads import Impure


class FlatForward(nn.Module):
    """A forward as a function of flat tensors: those that it reads, then its arguments.

    Attributes:
        rebuild: from the compiled function's results to those of forward.

    """

    def __init__(self, scan: Scan, arguments: Arguments, sources: int) -> None:
        """Take a module that was scanned, and arguments like those of the calls to come."""
        super().__init__()
        self._scan = (scan,)  # not a submodule's parameters: a tuple hides them
        self._arguments = arguments
        self._sources = sources
        self._results = 0
        self.rebuild: Callable[[Sequence[torch.Tensor]], Any] = tuple

    def forward(self, *tensors: torch.Tensor) -> list[torch.Tensor]:
        """Run the original forward on a stand-in of the module that has these tensors."""
        root = stand_in(self._scan[0], tensors[: self._sources])
        args, kwargs = self._arguments.rebuild(tensors[self._sources :])
        results, self.rebuild = take_result_apart(type(root).forward(root, *args, **kwargs))
        self._results = len(results)
        return results

    def compile(self, inputs: Sequence[torch.Tensor], options: Options) -> Callable[..., Any] | None:
        """Return a function of real flat tensors, None if there is nothing to fuse.

        `inputs` are fake tensors.
        """
        parameters = {i for i, t in enumerate(inputs[: self._sources]) if isinstance(t, nn.Parameter)}
        compiled: list[Callable[..., Any]] = []

        def compiler(graph: fx.GraphModule, fakes: Sequence[Any]) -> Callable[..., Any]:
            self._check(graph, len(inputs))
            if compile_graph(graph, fakes, parameters, options):
                compiled.append(graph.forward)
            return graph.forward

        capture_inference(self, inputs, compiler)
        return compiled[0] if compiled else None

    def _check(self, graph: fx.GraphModule, inputs: int) -> None:
        """Raise Impure unless calling the graph is all that there is to do."""
        placeholders = graph.graph.find_nodes(op="placeholder")
        results = graph.graph.output_node().args[0]
        if len(placeholders) != inputs or len(results) != self._results:
            raise Impure("inputs or results that share memory")
        for node in graph.graph.find_nodes(op="call_function", target=torch.ops.aten.copy_.default):
            if node.args[0] in placeholders[self._sources :]:
                raise Impure("forward writes to its arguments")


def stand_in(scan: Scan, tensors: Sequence[torch.Tensor]) -> nn.Module:
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
