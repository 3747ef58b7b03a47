# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes a group of nodes as an MLIR function."""

from __future__ import annotations

import dataclasses
import json
import os
import re
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import fx

import tenon
from tenon.importer.builder import InexpressibleError, Value, module_text, return_text, type_of
from tenon.importer.shapes import Shape, output_dims
from tenon.importer.specs import InputSpec, OutputSpec
from tenon.torch.fusion.lowering import Lowering
from tenon.torch.fusion.norms import Norm, is_batch_norm
from tenon.torch.fusion.ops import LINEAR
from tenon.torch.fusion.rows import kind_of, reduces_rows
from tenon.torch.fusion.shapes import torch_shape
from tenon.torch.fusion.views import arguments, base_name, cast_source, dtype_of, op_name, strip, view_source
from tenon.torch.fusion.words import is_of_training, is_parameter, lower, norm_of

_LIBRARIES = tuple(f"{Path(library.__file__).parent}{os.sep}" for library in (torch, tenon))
_FRAME = re.compile(r'File "([^"]+)", line (\d+)')
# Names that tell nothing, and what an op calls its operands.
_NAMELESS = re.compile(r"(arg|y)\d+(_\d+)?")
_ROLES = {"mat1": "x", "mat2": "weight", "input": "x", "self": "x"}


@dataclasses.dataclass
class Output:
    """A result: the node that stands for it, its value, and the placeholder that it is written to."""

    node: fx.Node | None
    value: Value
    in_place: fx.Node | None = None


@dataclasses.dataclass
class GroupFunction:
    """A group as an MLIR function, and what it takes and gives in the graph.

    Attributes:
        inlined: nodes outside the group that it computes.

    """

    kinds: list[str]
    arguments: list[fx.Node]
    inputs: list[InputSpec]
    outputs: list[OutputSpec]
    results: list[Output]
    signature: str
    body: list[str]
    origins: list[str]
    inlined: list[fx.Node]

    def source(self, name: str) -> str:
        """Return the text of a module with this function, called `name`."""
        return module_text(name, self.signature, self.body)


class Importer(Lowering):
    """Lowers the nodes of one group; what comes from outside becomes an argument.

    A node outside that depends on parameters alone, or a cast that only the group needs,
    is lowered with it.
    """

    def __init__(
        self, inlined: set[fx.Node], parameters: set[str], precision: str | None, moves_norms: bool = True
    ) -> None:
        """Take the nodes outside the group that are lowered with it where they are needed."""
        super().__init__(parameters, precision, moves_norms)
        self.values: dict[fx.Node, Value] = {}
        self.norms: dict[fx.Node, Norm] = {}
        self.kinds: list[str] = []
        self._inlined = inlined
        self._arguments: dict[tuple[fx.Node, Shape, bool], Value] = {}
        self._roles: dict[fx.Node, str] = {}

    def append(self, node: fx.Node) -> None:
        """Lower a node."""
        norm = norm_of(node)
        if norm is not None:
            results = self.norms[norm].results
            if node.args[1] in results:
                self.values[node] = results[node.args[1]]
            return
        outer = self.name, self.location, self.origin
        self.name, self.location, self.origin = _short_name(node), _location(node), node.name
        self._find_roles(node)
        start = len(self.lines)
        result = lower(self, node)
        if isinstance(result, Norm):
            self.norms[node] = result
            if op_name(node) == "aten.batch_norm":
                self.values[node] = result.results[0]
        else:
            self.values[node] = result
        kinds = re.findall(r"= tenon\.(\w+)", "\n".join(self.lines[start:]))[-1:]
        self.kinds += [kind_of(node)] if reduces_rows(node) else kinds
        self.name, self.location, self.origin = outer

    def value(self, node: fx.Node, shape: Shape, transpose: bool = False) -> Value:
        """Return a node's value: computed here, or an argument."""
        if node in self._inlined and node not in self.values:
            self.append(node)
        if node in self.values:
            return self.values[node]
        key = (node, shape, transpose)
        if key not in self._arguments:
            # Layers of the same code are to have the same text, whatever their nodes are called.
            name = node.name if _is_named(node) else self._roles.get(node, "x")
            self._arguments[key] = Value(f"%{self.fresh(_identifier(name))}", dtype_of(node), shape)
        return self._arguments[key]

    def argument_shapes(self) -> list[Shape]:
        """Return the shapes of the arguments as PyTorch has them."""
        return [torch_shape(node) for node, _, _ in self._arguments]

    def finish(self, results: Sequence[Output]) -> GroupFunction:
        """Return the function with these results."""
        nodes = [node for node, _, _ in self._arguments]
        inputs, arguments_text = [], []
        for (node, shape, transpose), value in self._arguments.items():
            is_param = is_parameter(node, self.parameters)
            dims = tuple(d if isinstance(d, int) else None for d in shape)
            inputs.append(InputSpec(value.dtype, dims, is_param, transpose))
            arguments_text.append(f"{value.name}: {type_of(value)}{' {tenon.param}' if is_param else ''}")
        outputs = []
        for result in results:
            dims = output_dims(torch_shape(result.in_place or result.node), self.argument_shapes())
            if dims is None:
                raise InexpressibleError("the shape of its result does not follow from those of its inputs")
            outputs.append(OutputSpec(result.value.dtype, dims, result.in_place and nodes.index(result.in_place)))
        values = [result.value for result in results]
        signature = f"({', '.join(arguments_text)})\n    -> ({', '.join(map(type_of, values))})"
        body = [*self.lines, return_text(values)]
        inlined = [node for node in self.values if node in self._inlined]
        return GroupFunction(self.kinds, nodes, inputs, outputs, list(results), signature, body, self.origins, inlined)

    def _find_roles(self, node: fx.Node) -> None:
        for role, argument in arguments(node).items():
            role = "bias" if role == "self" and op_name(node) == "aten.addmm" else _ROLES.get(role, role)
            role = f"bn_{role}" if is_batch_norm(node) and role in ("weight", "bias") else role
            while isinstance(argument, fx.Node):
                self._roles.setdefault(argument, role)
                sources = argument.all_input_nodes
                argument = sources[0] if len(sources) == 1 else None


def import_group(
    importer: Importer, members: Sequence[fx.Node], live: set[fx.Node], takers: dict[fx.Node, list[fx.Node]]
) -> GroupFunction:
    """Lower a group's live members in their order; `takers` has the live nodes that take a node's value.

    Raises:
        InexpressibleError: the group cannot be written as one function.

    """
    for node in members:
        if node in live:
            importer.append(node)
    results, inside = [], set(members)
    for node in members:
        users = [u for u in takers.get(node, []) if u not in inside]
        if node in importer.values and users:
            results.append(_result(node, users, takers, importer))
        if node in importer.norms:
            results += [Output(None, value, target) for target, value in importer.norms[node].in_place]
    return importer.finish(results)


def _result(node: fx.Node, users: list[fx.Node], takers: dict[fx.Node, list[fx.Node]], importer: Importer) -> Output:
    """Return what stands for a node outside: a copy to a running statistic, or a view where nothing else is used."""
    value, copy = importer.values[node], _statistic_copy(node, users, takers)
    if copy is not None and dtype_of(copy.args[0]) == value.dtype:
        return Output(copy, value, copy.args[0])
    while len(users) == 1 and view_source(users[0]) is node:
        if output_dims(torch_shape(users[0]), importer.argument_shapes()) is None:
            break
        node = users[0]
        users = takers.get(node, [])
    return Output(node, value)


def _statistic_copy(node: fx.Node, users: list[fx.Node], takers: dict[fx.Node, list[fx.Node]]) -> fx.Node | None:
    """Return the copy by which a batch norm's result becomes the running statistic that it was made from.

    A cast may be between: PyTorch has new statistics in float32 where those of the module have 16 bits.
    """
    norm = norm_of(node)
    if len(users) == 1 and cast_source(users[0]) is node:
        users = takers.get(users[0], [])
    if norm is None or len(users) != 1 or op_name(users[0]) != "aten.copy_" or users[0].users:
        return None
    copy, target = users[0], users[0].args[0]
    own = [strip(argument) for argument in norm.args if isinstance(argument, fx.Node)]
    is_alone = target.op == "placeholder" and target in own and set(target.users) == {norm, copy}
    return copy if is_alone else None


def source_line(node: fx.Node) -> tuple[str, int] | None:
    """Return the file and line of the user's code that a node comes from."""
    frames = _FRAME.findall(node.meta.get("stack_trace") or "")
    own = [(file, int(line)) for file, line in frames if not file.startswith(_LIBRARIES)]
    return own[-1] if own else None


def _location(node: fx.Node) -> str:
    line = source_line(node)
    return f" loc({json.dumps(line[0])}:{line[1]}:0)" if line else ""


def _short_name(node: fx.Node) -> str:
    """Return what a value is called, such as "linear" for any of the ops that are one."""
    if op_name(node) in LINEAR:
        return "linear"
    if is_batch_norm(node):
        return "batch_norm"
    return "cast" if cast_source(node) is not None else _identifier(base_name(node))


def _is_named(node: fx.Node) -> bool:
    """Tell whether the user named a tensor."""
    return node.op == "placeholder" and not _NAMELESS.fullmatch(node.name) and not is_of_training(node.graph)


def _identifier(name: str) -> str:
    name = re.sub(r"\W", "_", name, flags=re.ASCII)
    return name if name[:1].isalpha() or name.startswith("_") else f"_{name}"
