# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What precision "fp8" costs a model: its graph run with layers whose operands are rounded as Tenon rounds them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import torch
from torch import fx

from tenon.importer.builder import InexpressibleError
from tenon.importer.quantised import LARGEST, LEAST_SCALE, is_quantised
from tenon.torch.fusion.lowering import find_weight
from tenon.torch.fusion.views import arguments, dtype_of, op_name

# Of each op: its x, its w, and along which dimension of the latter K lies.
_OPERANDS = {"aten.linear": ("input", "weight", 1), "aten.addmm": ("mat1", "mat2", 0), "aten.mm": ("self", "mat2", 0)}


def quantised_layers(graph: fx.Graph, parameters: Collection[str]) -> set[str]:
    """Return the names of a graph's layers that precision "fp8" quantises, if Tenon takes them."""
    names = set()
    for node in graph.nodes:
        if op_name(node) not in _OPERANDS:
            continue
        _, w, dim = _OPERANDS[op_name(node)]
        try:
            weight = find_weight(arguments(node)[w], is_transposed=dim == 0)
        except InexpressibleError:
            continue
        if weight.source.name in parameters and is_quantised(dtype_of(node), weight.shape[1]):
            names.add(node.name)
    return names


def relative_error(graph: fx.GraphModule, layers: Collection[str], inputs: Sequence[Any], results: Any) -> float | None:
    """Return by how much of its norm what a graph gives is off where these layers are quantised."""
    quantised = _Quantised(graph, layers).run(*inputs)
    distance = size = 0.0
    for got, expected in zip(quantised, results, strict=True):
        if isinstance(expected, torch.Tensor) and expected.is_floating_point():
            distance += (got.double() - expected.double()).norm().item() ** 2
            size += expected.double().norm().item() ** 2
    return (distance / size) ** 0.5 if size else None


class _Quantised(fx.Interpreter):
    def __init__(self, graph: fx.GraphModule, layers: Collection[str]) -> None:
        super().__init__(graph)
        self._layers = layers

    def run_node(self, node: fx.Node) -> Any:
        if node.name not in self._layers:
            return super().run_node(node)
        x, w, dim = _OPERANDS[op_name(node)]
        given = {
            name: self.env.get(value, value) if isinstance(value, fx.Node) else value
            for name, value in arguments(node).items()
        }
        given |= {x: _quantise(given[x], -1), w: _quantise(given[w], dim)}
        positional = [a.name for a in node.target._schema.arguments if not a.kwarg_only]
        more = {name: value for name, value in given.items() if name not in positional}
        return node.target(*(given[name] for name in positional), **more)


def _quantise(x: torch.Tensor, dim: int) -> torch.Tensor:
    wide = x.float()
    scale = (wide.abs().amax(dim, keepdim=True) / LARGEST).clamp(min=LEAST_SCALE)
    return ((wide / scale).to(torch.float8_e4m3fn).float() * scale).to(x.dtype)
