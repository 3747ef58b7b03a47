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

_OP = re.compile(r"^\s*([^=]+?) = tenon\.(\w+) (.*)$")
_VALUE = re.compile(r"%\w+")
_LOCATION = re.compile(r' loc\(("(?:[^"\\]|\\.)*"):(\d+):\d+\)$')


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
    given = _native.Options(
        name=name,
        targets=gpus,
        cpu="x86-64-v3",
        allow_rounding_changes=False,
        fold_weights=False,
        reference=False,
        remarks=True,
        strategy=options.strategy,
        reduction=options.reduction,
    )
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
        self._split: set[str] = set()  # values
        self._constant = {v for v, mark in re.findall(r"(%\w+): tensor<[^>]*>( \{tenon.param\})?", signature) if mark}
        self._result = Layers([], [], [], _ops(self._lines), _places(part))
        self._linears: dict[int, Layer] = {}

    def read(self) -> Layers:
        for number, line in enumerate(self._lines):
            if line.kind == "linear":
                self._add_linear(number, line)
            elif line.operands <= self._constant:
                self._constant.update(line.results)
                self._result.prepared.append(line.node)
            else:
                self._add(number, line)
        for layer in self._result.layers:
            layer.kernels = [kernel for kernel in layer.kernels if kernel.nodes]
            for kernel in layer.kernels:
                kernel.nodes = list(dict.fromkeys(kernel.nodes))
        self._result.prepared = list(dict.fromkeys(self._result.prepared))
        return self._result

    def _add_linear(self, number: int, line: _Line) -> None:
        layer = Layer([Kernel("cuBLASLt product", [line.node]), Kernel("epilogue kernel")])
        if not self._on_gpu:
            layer = Layer([Kernel("CPU code", [line.node])], strategy="CPU loops")
        for remark in self._remarks.get(number, []):
            if remark.category == "tenon-select-strategy":
                layer.strategy, layer.choice = remark.message.partition(":")[0], _choice(remark)
                if layer.strategy == "tiled":
                    self._tile(layer, line, remark.arguments.get("Reason", ""))
            if remark.category == "tenon-to-blaslt":
                layer.reason = remark.arguments.get("Reason", "")
                if not layer.reason:
                    layer.kernels = [Kernel("cuBLASLt call", [line.node])]
        self._result.layers.append(layer)
        self._linears[number] = layer
        self._layer_of |= dict.fromkeys(line.results, layer)

    def _tile(self, layer: Layer, line: _Line, why: str) -> None:
        """Give a layer its kernels; what is fused into it joins the last of them."""
        layer.kernels = [Kernel("tiled kernel", [line.node])]
        if why.startswith("the product alone"):
            layer.kernels.append(Kernel("epilogue kernel"))
        if why.startswith("the product with moments"):
            layer.kernels.append(Kernel("epilogue: map"))
        if not re.search(r"(mma_sync|wgmma) fp16", why):
            return
        layer.reason = "x is split into f16 parts first; at the end, what has rows outside is computed once more"
        x = line.operands - self._constant
        if not x <= self._split:  # layers that share their x split it once
            layer.kernels.insert(0, Kernel("split of x", [line.node]))
            self._split |= x

    def _add(self, number: int, line: _Line) -> None:
        """Give an op to the layer that its remark names, or, if it was simplified away, to its operand's."""
        layer = next((self._layer_of[v] for v in line.operands if v in self._layer_of), None)
        fused = False
        for remark in self._remarks.get(number, []):
            product = re.search(r"fused into .* of line (\d+)", remark.message)
            if product and int(product[1]) - self._first in self._linears and remark.kind == "passed":
                layer, fused = self._linears[int(product[1]) - self._first], True
                layer.bytes_saved += _saved(remark, self._rows)
            elif remark.kind == "missed":
                reason = remark.arguments.get("Reason", remark.message)
                self._result.missed.append((line.node, f"{reason[:1].upper()}{reason[1:]}."))
                layer = None
        if layer is None:
            layer = Layer([Kernel("epilogue kernel" if self._on_gpu else "CPU code")], strategy="own pass")
            self._result.layers.append(layer)
        kernel = layer.kernels[-1]
        if kernel.name == "epilogue: map" and not kernel.nodes and line.kind != "batch_norm_training":
            kernel = layer.kernels[-2]  # what is before the norm
        kernel.nodes.append(line.node)
        if fused and line.kind == "batch_norm_training" and kernel.name == "epilogue kernel":
            kernel.name = "epilogue: reduce, map"
        self._layer_of |= dict.fromkeys(line.results, layer)


def _choice(remark: Remark) -> str:
    """Return "library: the layer cannot be tiled (why)"."""
    reason = remark.arguments.get("Reason", "")
    return remark.message + (f" ({reason})" if reason else "")


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
