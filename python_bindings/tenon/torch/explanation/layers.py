# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the compiler makes of a partition: its layers, their kernels, and why."""

from __future__ import annotations

import dataclasses
import json
import math
import re
from collections.abc import Sequence
from pathlib import Path

import torch

from tenon import _native
from tenon.errors import Remark, read_records
from tenon.torch.ahead_of_time.exporter import without_locations
from tenon.torch.fusion.specs import Partition
from tenon.torch.options import Options

_OP = re.compile(r"^\s*([^=]+?) = (?:tenon|tensor)\.(\w+) (.*)$")
_VALUE = re.compile(r"%\w+")
_LOCATION = re.compile(r' loc\(("(?:[^"\\]|\\.)*"):(\d+):\d+\)$')
# What the compiler says that layers run as, and the table's name of it.
_KERNELS = {
    "split": "split of x",
    "moments": "moments of x",
    "tiled": "tiled kernel",
    "call": "cuBLASLt call",
    "product": "cuBLASLt product",
    "epilogue": "epilogue kernel",
    "reduce_map": "epilogue: reduce, map",
    "map": "epilogue: map",
}
_OF_LINEAR = {"split of x", "tiled kernel", "cuBLASLt call", "cuBLASLt product"}
_NORM = "batch_norm_training"
_BLOCKS = "scale_blocks"
_VIEW = "collapse_shape"


@dataclasses.dataclass
class Kernel:
    """What runs at once: its name, and the nodes of the graph whose work it does."""

    name: str
    nodes: list[str] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Layer:
    """A linear layer with all that was fused into it.

    Attributes:
        kernels: in the order in which they run.
        strategy: how it is computed: "library", "tiled", "CPU loops", or "own pass" without a product.
        choice: why it has that strategy, "" where there was no choice.
        reason: why it takes more than one kernel, "" if it does not.
        bytes_saved: of memory traffic that PyTorch would have had in the same call.

    """

    kernels: list[Kernel]
    strategy: str = "library"
    choice: str = ""
    reason: str = ""
    bytes_saved: int = 0


@dataclasses.dataclass
class Layers:
    """A partition's layers, what is computed once for each version of the parameters, and what was not fused.

    `ops` and `where` have, by node, what it does and the file and line of the user's code,
    as far as the function's text tells.
    """

    layers: list[Layer]
    prepared: list[str]
    missed: list[tuple[str, str]]  # node and reason
    ops: dict[str, str]
    where: dict[str, str]


@dataclasses.dataclass(frozen=True)
class _Line:
    """An op of the partition's function: what it was made from, its kind, results and operands."""

    node: str
    kind: str
    results: tuple[str, ...]
    operands: frozenset[str]


def layers_of(part: Partition, targets: Sequence[str], options: Options) -> Layers:
    """Return what becomes of a partition on the GPU architectures among targets, or else on the CPU.

    The GPUs need not be here; strategy and reduction are those of the options.
    """
    gpus = [target for target in targets if target != "cpu"]
    source = without_locations(part.source)
    first = len(source.splitlines()) - len(part.origins) - 1  # the line of the first op, from 1
    remarks = _lower(part.name, source, gpus, options)
    by_line: dict[int, list[Remark]] = {}
    for remark in remarks:
        by_line.setdefault(remark.line - first, []).append(remark)
    return _Reader(part, source, first, by_line, bool(gpus)).read()


def _lower(name: str, source: str, gpus: Sequence[str], options: Options) -> list[Remark]:
    given = _native.Options(gpus, remarks=True, name=name, **options.of_compiler())
    _, records = _native.lower(source, name, "cuda-blaslt" if gpus else "prepare", given)
    return read_records(records)[1]


class _Reader:
    """Goes through a partition's ops with the remarks on each."""

    def __init__(
        self, part: Partition, source: str, first: int, by_line: dict[int, list[Remark]], on_gpu: bool
    ) -> None:
        text = source.splitlines()
        body = text[first - 1 : first - 1 + len(part.origins)]
        signature = " ".join(text[: first - 1])
        self._lines = [_read_line(node, line) for node, line in zip(part.origins, body, strict=True)]
        self._first, self._remarks, self._on_gpu = first, by_line, on_gpu
        self._rows = _rows(part)
        self._layer_of: dict[str, Layer] = {}  # by value
        self._constant = {v for v, mark in re.findall(r"(%\w+): tensor<[^>]*>( \{tenon.param\})?", signature) if mark}
        self._result = Layers([], [], [], _ops(self._lines), _places(part))
        self._linears: dict[int, Layer] = {}
        self._blocks: set[str] = set()  # values that are bytes times scales
        self._joined: dict[int, int] = {}  # a layer, and the one in whose kernel or launch it is, by line

    def read(self) -> Layers:
        for number, line in enumerate(self._lines):
            if line.kind == "linear":
                self._add_linear(number, line)
            elif line.operands <= self._constant and line.kind != _BLOCKS:
                self._constant.update(line.results)
                self._result.prepared.append(line.node)
            elif line.kind == _VIEW:
                known = [self._layer_of[v] for v in line.operands if v in self._layer_of]
                self._layer_of |= {result: layer for result in line.results for layer in known}
            else:
                self._add(number, line)
        for number, other in self._joined.items():
            self._join(self._linears[number], self._linears[other], is_behind=number > other)
        for layer in self._result.layers:
            layer.kernels = [kernel for kernel in layer.kernels if kernel.nodes]
            for kernel in layer.kernels:
                kernel.nodes = list(dict.fromkeys(kernel.nodes))
        self._result.prepared = list(dict.fromkeys(self._result.prepared))
        return self._result

    def _add_linear(self, number: int, line: _Line) -> None:
        layer = Layer([Kernel("CPU code", [line.node])], strategy="CPU loops")
        for remark in self._remarks.get(number, []):
            values = remark.values
            if "strategy" in values:
                layer.strategy, layer.choice = values["strategy"], _choice(remark)
            if "launch_line" in values:
                self._joined[number] = values["launch_line"] - self._first
            if "kernel_line" in values:
                self._joined[number] = values["kernel_line"] - self._first
                layer.bytes_saved += _saved(remark, self._rows)
            if "product" in values.get("kernels", ()):
                layer.reason = remark.reason
            if "guard" in values.get("kernels", ()):
                layer.reason = (
                    "x is split into f16 parts first; at the end, what has rows outside is computed once more"
                )
            if "kernels" in values:
                names = [_KERNELS[kind] for kind in values["kernels"] if kind in _KERNELS]
                layer.kernels = [Kernel(name, [line.node] if name in _OF_LINEAR else []) for name in names]
        if any(remark.values.get("method") == "fp8" for remark in self._remarks.get(number, [])):
            # The product's kernel takes bytes and their scales.
            taken = {id(self._layer_of[v]) for v in line.operands if v in self._blocks}
            self._result.layers = [other for other in self._result.layers if id(other) not in taken]
        self._result.layers.append(layer)
        self._linears[number] = layer
        self._layer_of |= dict.fromkeys(line.results, layer)

    def _join(self, layer: Layer, other: Layer, is_behind: bool) -> None:
        """Give what a layer does to another, which has the products of both."""
        tiled = next(kernel for kernel in other.kernels if kernel.name == _KERNELS["tiled"])
        nodes = [node for kernel in layer.kernels for node in kernel.nodes]
        tiled.nodes = tiled.nodes + nodes if is_behind else nodes + tiled.nodes
        other.bytes_saved += layer.bytes_saved
        self._result.layers = [found for found in self._result.layers if found is not layer]

    def _add(self, number: int, line: _Line) -> None:
        """Give an op to the layer that its remark names, or, if it was simplified away, to its operand's."""
        layer = next((self._layer_of[v] for v in line.operands if v in self._layer_of), None)
        for remark in self._remarks.get(number, []):
            product = self._linears.get(remark.values.get("product_line", 0) - self._first)
            if product and remark.kind == "passed":
                layer = product
                layer.bytes_saved += _saved(remark, self._rows)
            elif remark.kind == "missed":
                self._result.missed.append((line.node, f"{remark.reason[:1].upper()}{remark.reason[1:]}."))
                layer = None
        if layer is None:
            layer = Layer([Kernel("epilogue kernel" if self._on_gpu else "CPU code")], strategy="own pass")
            self._result.layers.append(layer)
        for kernel in _kernels_of(layer, line.kind):
            kernel.nodes.append(line.node)
        self._layer_of |= dict.fromkeys(line.results, layer)
        if line.kind == _BLOCKS:
            self._blocks.update(line.results)


def _kernels_of(layer: Layer, kind: str) -> list[Kernel]:
    """Return the kernels that an op of a layer is part of: mostly the last."""
    *others, last = layer.kernels
    if last.name == _KERNELS["map"] and not last.nodes and kind != _NORM:
        return others[-1:]  # what is before the norm
    moments = [kernel for kernel in others if kernel.name == _KERNELS["moments"] and kind == _NORM]
    return [*moments, last]


def _choice(remark: Remark) -> str:
    """Return "library: the layer cannot be tiled (why)"."""
    return remark.message + (f" ({remark.reason})" if remark.reason else "")


def _read_line(node: str, line: str) -> _Line:
    found = _OP.match(line)
    if not found:
        return _Line(node, "", (), frozenset())
    return _Line(node, found[2], tuple(_VALUE.findall(found[1])), frozenset(_VALUE.findall(found[3])))


def _ops(lines: Sequence[_Line]) -> dict[str, str]:
    """Return what nodes do: the importer names values after it, with numbers where names would be equal."""
    return {line.node: re.sub(r"_\d+$", "", line.results[0][1:]) for line in lines if line.results}


def _places(part: Partition) -> dict[str, str]:
    """Return where nodes come from in the user's code."""
    body = part.source.splitlines()[-len(part.origins) - 2 : -2]
    found = [(node, _LOCATION.search(line)) for node, line in zip(part.origins, body, strict=True)]
    return {node: f"{Path(json.loads(place[1])).name}:{place[2]}" for node, place in found if place}


def _saved(remark: Remark, rows: int) -> int:
    arguments = remark.arguments
    return int(arguments.get("BytesSaved", 0)) + rows * int(arguments.get("BytesSavedPerRow", 0))


def _rows(part: Partition) -> int:
    """Return the rows that the partition's results have in the call that was captured."""
    for value in part.node.meta["val"]:
        if isinstance(value, torch.Tensor) and value.dim() > 1:
            return math.prod(hint(d) for d in value.shape[:-1])
    return 1


def hint(size: int | torch.SymInt) -> int:
    """Return an extent as it was in the call that was captured."""
    return size if isinstance(size, int) else int(size.node.hint or 0)
