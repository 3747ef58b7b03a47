# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A graph of tenon ops, and its text as MLIR."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field

import numpy as np

from .dtypes import encode

# The groups of optional operands, in the order in which the op takes them.
GROUPS = {
    "batch_norm_inference": {"stats": 2, "weight": 1, "bias": 1},
    "batch_norm_training": {"weight": 1, "bias": 1, "running": 2},
}

# Ops of MLIR's tensor dialect that move values and change none.
VIEWS = ("slice", "reshape", "concat")


@dataclass(eq=False)
class Value:
    """A tensor: shape of extents and names of extents ("m"), and element type."""

    name: str
    shape: tuple[int | str, ...]
    dtype: str
    fill: str = ""  # of an input: how its values are drawn
    depth: int = 0  # of a weight that is reshaped: how long its products are
    is_param: bool = False
    magnitude: float = 1.0  # about how large its values get


@dataclass(eq=False)
class Op:
    """`groups` says which optional operands of batch norm there are."""

    kind: str
    operands: list[Value]
    results: list[Value]
    attributes: dict[str, object] = field(default_factory=dict)
    groups: tuple[str, ...] = ()

    def group(self, name: str) -> list[Value]:
        """Return the operands of one optional group; none if it is not there."""
        start = 1
        for other in self.groups:
            count = GROUPS[self.kind][other]
            if other == name:
                return self.operands[start : start + count]
            start += count
        return []


@dataclass(eq=False)
class Graph:
    """A function. `extents` are those of one call; `dynamic` hides them from the compiler."""

    name: str
    extents: dict[str, int]
    dynamic: bool
    inputs: list[Value] = field(default_factory=list)
    ops: list[Op] = field(default_factory=list)
    returns: list[Value] = field(default_factory=list)

    def shape_of(self, value: Value) -> tuple[int, ...]:
        """Return the shape of a value in a call."""
        return tuple(self.extents.get(extent, extent) for extent in value.shape)

    def mlir(self) -> str:
        """Return the function's text."""
        arguments = ", ".join(
            f'%{v.name}: {self.type_of(v)} {{{"tenon.param, " if v.is_param else ""}tenon.name = "{v.name}"}}'
            for v in self.inputs
        )
        results = ", ".join(self.type_of(v) for v in self.returns)
        lines = [f"func.func @{self.name}({arguments}) -> ({results}) {{"]
        lines += [f"  {self.op_text(op)}" for op in self.ops]
        lines.append(f"  return {', '.join('%' + v.name for v in self.returns)} : {results}")
        return "\n".join([*lines, "}"])

    def type_of(self, value: Value) -> str:
        """Return a value's type as MLIR."""
        sizes = ["?" if self.dynamic and isinstance(e, str) else str(self.extents.get(e, e)) for e in value.shape]
        return f"tensor<{'x'.join([*sizes, value.dtype])}>"

    def op_text(self, op: Op) -> str:
        """Return an op as MLIR."""
        attributes = dict(op.attributes)
        names = ["%" + v.name for v in op.operands]
        body, types = ", ".join(names), ", ".join(self.type_of(v) for v in op.operands)
        if op.kind == "linear" and "precision" in attributes:
            body += f" precision<{attributes.pop('precision')}>"
        elif op.kind == "gelu" and attributes.pop("tanh", False):
            body += " approximate<tanh>"
        elif op.kind == "reduce_row":
            body = f"{attributes.pop('of')} {body}"
            body += f" {{groups = {attributes.pop('parts')}}}" if "parts" in attributes else ""
        elif op.kind == "repeat_columns":
            body += f" {{times = {attributes.pop('times')}}}"
        elif "scalar" in attributes:
            scalar, first = number(attributes.pop("scalar")), attributes.pop("scalar_first", False)
            body = f"{scalar}, {body}" if first else f"{body}, {scalar}"
        elif op.groups:
            body = " ".join([names[0], *(f"{g}({', '.join('%' + v.name for v in op.group(g))})" for g in op.groups)])
        if op.kind in ("linear", "batch_norm_training", "batch_sum"):
            results = ", ".join(self.type_of(v) for v in op.results)
            types = f"({types}) -> ({results})"
        elif op.kind == "cast":
            types += f" -> {self.type_of(op.results[0])}"
        elif op.kind in VIEWS:
            return getattr(self, f"{op.kind}_text")(op)
        entries = ", ".join(f"{key} = {number(value)}" for key, value in attributes.items())
        outcome = ", ".join("%" + v.name for v in op.results)
        return f"{outcome} = tenon.{op.kind} {body} {'{' + entries + '} ' if entries else ''}: {types}"

    def slice_text(self, op: Op) -> str:
        """Return a slice with static offsets and strides, of all rows where their number is not known."""
        (x,), (result,) = op.operands, op.results
        offsets, steps = list(op.attributes["offsets"]), list(op.attributes["steps"])
        sizes, before = [str(size) for size in self.shape_of(result)], ""
        if self.dynamic and isinstance(result.shape[0], str):
            sizes[0] = f"%{result.name}_rows"
            before = f"%{result.name}_0 = arith.constant 0 : index\n  "
            before += f"{sizes[0]} = tensor.dim %{x.name}, %{result.name}_0 : {self.type_of(x)}\n  "
        types = f"{self.type_of(x)} to {self.type_of(result)}"
        places = f"{offsets} [{', '.join(sizes)}] {steps}"
        return f"{before}%{result.name} = tensor.extract_slice %{x.name}{places} : {types}"

    def reshape_text(self, op: Op) -> str:
        """Return a reshape, from one extent to two or from two to one."""
        (x,), (result,) = op.operands, op.results
        types = f"{self.type_of(x)} into {self.type_of(result)}"
        if len(x.shape) > len(result.shape):
            return f"%{result.name} = tensor.collapse_shape %{x.name} [[0, 1]] : {types}"
        shape = list(self.shape_of(result))
        return f"%{result.name} = tensor.expand_shape %{x.name} [[0, 1]] output_shape {shape} : {types}"

    def concat_text(self, op: Op) -> str:
        """Return a concatenation of columns."""
        names, types = (", ".join(t) for t in zip(*(("%" + v.name, self.type_of(v)) for v in op.operands), strict=True))
        (result,) = op.results
        return f"%{result.name} = tensor.concat dim(1) {names} : ({types}) -> {self.type_of(result)}"


def number(value: float) -> str:
    """Return a number as MLIR spells it; `draw_scalar` makes none that this changes."""
    return f"{value:.9e}"


def stages(graph: Graph) -> list[Graph]:
    """Return a graph of each op alone: what it computes where nothing is fused."""
    return [
        Graph(f"{graph.name}_op{i}", graph.extents, graph.dynamic, list(dict.fromkeys(op.operands)), [op], op.results)
        for i, op in enumerate(graph.ops)
    ]


def draw_inputs(graph: Graph, seed: int = 0) -> dict[str, np.ndarray]:
    """Return random inputs by name, as stored; the same for the same graph and seed."""
    rng = np.random.default_rng([zlib.crc32(graph.name.encode()), seed])
    inputs = {}
    for value in graph.inputs:
        shape = graph.shape_of(value)
        if value.fill == "positive":
            drawn = rng.uniform(0.5, 2.0, shape)
        elif value.fill == "weight":  # the product's variance is x's
            drawn = rng.uniform(-1.0, 1.0, shape) * np.sqrt(3.0 / (value.depth or shape[1]))
        else:
            drawn = rng.uniform(-1.0, 1.0, shape)
        inputs[value.name] = encode(np.asarray(drawn), value.dtype)
    return inputs
